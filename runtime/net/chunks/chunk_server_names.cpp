// Of a ps where a step is made of some ranks alone: what workers report and hand on, and what ps 0
// tells them.
#include "runtime/net/chunks/chunk_server.h"
#include "runtime/net/chunks/named_ranks.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

Status ChunkServer::take_report(std::int64_t rank, const FrameHeader& header) {
  if (!names_) return invalid("steps are not named here");
  const std::int64_t late = names_->late()[index_of(rank)];
  TRY_ASSIGN(
      const auto named,
      names_->report(
          {.rank = rank, .step = header.step, .snapshot = header.snapshot, .holds = header.flag}));
  if (names_->late()[index_of(rank)] != late) tell_late(rank);
  if (!named) return ok();
  // Before the parameters that are made of it, for whoever waits for them.
  for (std::int64_t each = 0; each < options_.rules.ranks; ++each) tell_names(each);
  return make(StepNamed{rank, *named});
}

Status ChunkServer::take_names(std::int64_t rank, const FrameHeader& header,
                               std::span<const std::byte> payload) {
  const StepMembers members{.ranks = options_.rules.ranks, .aggregate = options_.rules.aggregate};
  TRY_ASSIGN(auto named, decode_ranks(payload, members));
  return make(StepNamed{
      rank, {.step = header.step, .ranks = std::move(named), .snapshot = header.snapshot}});
}

Status ChunkServer::make(const StepNamed& event) {
  if (options_.on_named) TRY(options_.on_named(event.named));
  return perform(event);
}

std::vector<std::int64_t> ChunkServer::late() const {
  return names_ ? names_->late() : std::vector<std::int64_t>();
}

// Where it is not there, it hears it when it comes.
void ChunkServer::tell_names(std::int64_t rank) {
  const NamedStep& newest = names_->newest();
  if (newest.ranks.empty()) return;
  tell(rank, {.kind = FrameKind::named, .step = newest.step, .snapshot = newest.snapshot},
       encode_ranks(newest.ranks, options_.rules.ranks));
}

void ChunkServer::tell_late(std::int64_t rank) {
  const std::int64_t count = names_->late()[index_of(rank)];
  if (count == 0) return;
  tell(0, {.kind = FrameKind::late, .chunk = static_cast<std::uint32_t>(rank), .step = count});
}

// A worker that is new here.
void ChunkServer::tell_what_is_named(std::int64_t rank) {
  if (!names_) return;
  tell_names(rank);
  if (rank != 0) return;
  for (std::int64_t each = 0; each < options_.rules.ranks; ++each) tell_late(each);
}

}  // namespace trainyard::runtime

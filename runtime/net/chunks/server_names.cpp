#include "runtime/net/chunks/server_names.h"

#include <utility>

#include "schemas/base/index.h"

namespace trainyard::runtime {

ServerNames::ServerNames(const ServerOptions& options, const ConnectedWorkers& workers)
    : members_{.ranks = options.rules.ranks, .aggregate = options.rules.aggregate},
      workers_(workers) {
  if (!options.names_steps) return;
  names_.emplace(members_, options.start.version);
}

Result<std::optional<NamedStep>> ServerNames::take_report(std::int64_t rank,
                                                          const FrameHeader& header) {
  if (!names_) return invalid("steps are not named here");
  const std::int64_t late = names_->late()[index_of(rank)];
  TRY_ASSIGN(
      const auto named,
      names_->report(
          {.rank = rank, .step = header.step, .snapshot = header.snapshot, .holds = header.flag}));
  if (names_->late()[index_of(rank)] != late) tell_late(rank);
  if (!named) return named;
  // Before the parameters that are made of it, for whoever waits for them.
  for (std::int64_t each = 0; each < members_.ranks; ++each) tell_newest(each);
  return named;
}

Result<NamedStep> ServerNames::take_names(const FrameHeader& header,
                                          std::span<const std::byte> payload) const {
  if (names_) return invalid("ps 0 names steps itself");
  TRY_ASSIGN(auto ranks, decode_ranks(payload, members_));
  return NamedStep{.step = header.step, .ranks = std::move(ranks), .snapshot = header.snapshot};
}

void ServerNames::joined(std::int64_t rank) const {
  if (!names_) return;
  tell_newest(rank);
  if (rank != 0) return;
  for (std::int64_t each = 0; each < members_.ranks; ++each) tell_late(each);
}

std::vector<std::int64_t> ServerNames::late() const {
  return names_ ? names_->late() : std::vector<std::int64_t>();
}

// Where it is not there, it hears it when it comes.
void ServerNames::tell_newest(std::int64_t rank) const {
  const NamedStep& newest = names_->newest();
  if (newest.ranks.empty()) return;
  workers_.tell(rank, {.kind = FrameKind::named, .step = newest.step, .snapshot = newest.snapshot},
                encode_ranks(newest.ranks, members_.ranks));
}

void ServerNames::tell_late(std::int64_t rank) const {
  const std::int64_t count = names_->late()[index_of(rank)];
  if (count == 0) return;
  workers_.tell(
      0, {.kind = FrameKind::late, .chunk = static_cast<std::uint32_t>(rank), .step = count});
}

}  // namespace trainyard::runtime

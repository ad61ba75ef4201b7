// Of a worker where a step is made of some ranks alone: what it reports to ps 0 and hands on to the
// others, and what ps 0 tells it.
#include "runtime/net/chunks/link_connection.h"
#include "runtime/net/chunks/named_ranks.h"
#include "runtime/net/chunks/worker_link.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

void WorkerLink::want_snapshot(BackupExchange::Then then) {
  const std::lock_guard lock(mutex_);
  ENSURE(backup_ != nullptr);
  backup_->want_snapshot(then);
}

std::int64_t WorkerLink::named_snapshot() const {
  const std::lock_guard lock(mutex_);
  return backup_ == nullptr ? 0 : backup_->named().snapshot;
}

std::vector<std::int64_t> WorkerLink::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

std::optional<FrameStream::Outgoing> WorkerLink::next_report() {
  const auto report = backup_ == nullptr ? std::nullopt : backup_->next_report();
  if (!report) return std::nullopt;
  return FrameStream::Outgoing{.header = {.kind = FrameKind::whole,
                                          .flag = report->holds,
                                          .step = report->step,
                                          .snapshot = report->snapshot},
                               .pieces = {},
                               .owner = nullptr};
}

void WorkerLink::hand_names(std::int64_t ps) {
  const auto& [step, ranks, snapshot] = backup_->named();
  const auto payload =
      std::make_shared<const std::string>(encode_ranks(ranks, options_.backups->ranks));
  small_[index_of(ps)].push_back(
      {.header = {.kind = FrameKind::named, .step = step, .snapshot = snapshot},
       .pieces = {std::as_bytes(std::span(*payload))},
       .owner = payload});
}

Status WorkerLink::take_names(const Connection& connection, const FrameHeader& header,
                              std::span<const std::byte> payload) {
  if (backup_ == nullptr || connection.ps != 0) return invalid("steps are not named here");
  if (header.step < 1 || header.step > options_.max_steps || header.snapshot > header.step) {
    return invalid("step " + std::to_string(header.step) + " cannot be named");
  }
  TRY_ASSIGN(auto ranks, decode_ranks(payload, *options_.backups));
  perform(
      backup_->name({.step = header.step, .ranks = std::move(ranks), .snapshot = header.snapshot}));
  return ok();
}

Status WorkerLink::take_late(const Connection& connection, const FrameHeader& header) {
  if (connection.ps != 0 || header.chunk >= left_out_.size()) {
    return invalid("a count of no rank");
  }
  left_out_[header.chunk] = header.step;
  return ok();
}

}  // namespace trainyard::runtime

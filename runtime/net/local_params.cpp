// With one rank every push commits at once, so an answer is always there when the call returns.
#include "runtime/net/local_params.h"

#include <algorithm>
#include <future>
#include <string>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

LocalParams::LocalParams(Aggregator::Rules rules, ParameterShard shard, Aggregator::Start start,
                         SnapshotFiles files, std::optional<RowTable> rows)
    : desk_(std::move(files)),
      aggregator_(
          std::move(rules), std::move(shard), std::move(start),
          [this](Snapshot snapshot) { desk_.take(std::move(snapshot)); }, std::move(rows)),
      whole_{plan_shares(aggregator_.elements(), 1).front()} {}

Result<Pulled> LocalParams::pull(std::int64_t at_least) {
  const std::lock_guard lock(mutex_);
  if (at_least > aggregator_.version()) {
    return conflict("version " + std::to_string(at_least) + " was never made");
  }
  Result<Answer> answer = internal("a pull that was not answered");
  aggregator_.pull({.at_least = at_least},
                   [&answer](Result<Answer> given) { answer = std::move(given); });
  return keep(std::move(answer));
}

Result<Pulled> LocalParams::pull_exactly(std::int64_t version) {
  const std::lock_guard lock(mutex_);
  Result<Answer> answer = internal("a pull that was not answered");
  aggregator_.pull({.at_least = version, .exactly = true},
                   [&answer](Result<Answer> given) { answer = std::move(given); });
  return keep(std::move(answer));
}

Result<Pulled> LocalParams::push_pull(const Contribution& contribution) {
  Result<Answer> answer = internal("a push that was not answered");
  const std::lock_guard lock(mutex_);
  aggregator_.push(
      {.rank = 0,
       .step = contribution.step,
       .base_version = version_,
       .sums = contribution.sums,
       .snapshot_step = contribution.snapshot_step,
       .gradient = payload_of(contribution.gradient->span(), aggregator_.elements(), whole_)},
      [&answer](Result<Answer> given) { answer = std::move(given); });
  return keep(std::move(answer));
}

Status LocalParams::read_rows(std::span<const std::int64_t> ids, std::span<float> rows) {
  const std::lock_guard lock(mutex_);
  TRY_ASSIGN(const std::vector<float> found, aggregator_.read_rows(ids));
  ENSURE(found.size() == rows.size());
  std::ranges::copy(found, rows.begin());
  return ok();
}

Status LocalParams::push_rows(std::int64_t step, std::vector<RowGradients> parts) {
  const std::lock_guard lock(mutex_);
  return aggregator_.stage_rows(0, step, std::move(parts));
}

Result<Pulled> LocalParams::keep(Result<Answer> answer) {
  TRY_ASSIGN(Answer given, std::move(answer));
  lent_ = std::move(given.weights);
  version_ = given.version;
  return Pulled{.version = given.version,
                .oldest = given.version,
                .newest = given.version,
                .rank_step = given.rank_step,
                .rank_step_max = given.rank_step,
                .turn = given.turn,
                .sums = given.sums,
                .times = {.apply = Seconds(given.apply_seconds)},
                .parameters = lent_->span()};
}

Result<std::vector<WrittenShard>> LocalParams::snapshot(const SnapshotDesk::Request& request) {
  {
    const std::lock_guard lock(mutex_);
    if (request.step > aggregator_.version()) {
      return conflict("step " + std::to_string(request.step) + " was never made");
    }
    if (!desk_.knows(request.step)) aggregator_.snapshot_at(request.step);
  }
  std::promise<Result<WrittenShard>> written;
  desk_.when_written(
      request, [&written](Result<WrittenShard> shard) { written.set_value(std::move(shard)); });
  TRY_ASSIGN(WrittenShard shard, written.get_future().get());
  return std::vector{std::move(shard)};
}

}  // namespace trainyard::runtime

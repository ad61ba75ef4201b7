// Gradients stay where they came until the last one is in; then one pass over all of them adds and
// applies, in the order of the reduction tree whatever the order of arrival.
#include "runtime/net/aggregator.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <utility>

#include "runtime/core/reduction_tree.h"
#include "runtime/core/schedule.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

std::size_t index_of(std::int64_t rank) { return static_cast<std::size_t>(rank); }

}  // namespace

RowTable::Update row_update(const ParameterShard::Update& update) {
  return {.learning_rate = update.learning_rate,
          .step = update.step,
          .gradient_scale = update.gradient_scale};
}

Aggregator::Aggregator(Rules rules, ParameterShard shard, Start start, SnapshotSink sink,
                       std::optional<RowTable> rows)
    : rules_(std::move(rules)),
      gate_(rules_.gate, start.version, std::move(start.rank_steps)),
      shard_(std::move(shard)),
      sink_(std::move(sink)),
      pending_(index_of(rules_.gate.ranks)),
      waiting_(pending_.size()),
      first_steps_(gate_.rank_steps()),
      lost_(pending_.size()),
      unseen_(pending_.size()),
      told_(pending_.size()),
      restored_(std::move(start.residuals)),
      residual_leaves_(std::ssize(restored_)) {
  const std::int64_t ranks = rules_.gate.ranks;
  if (rows) rows_.emplace(*std::move(rows), ranks);
  if (rules_.leaves == 0) rules_.leaves = ranks;
  if (rules_.share.ranges.empty()) rules_.share.ranges = {{0, shard_.elements()}};
  ENSURE(rules_.share.elements() == shard_.elements());
  std::vector<Leaves> nodes;
  for (std::int64_t rank = 0; rank < ranks && rules_.gate.mode == Mode::sync; ++rank) {
    const auto sent = sent_nodes(rules_.wire, leaves_of_rank(rank), rules_.leaves);
    nodes.insert(nodes.end(), sent.begin(), sent.end());
    parts_.push_back(std::ssize(sent));
  }
  if (rules_.gate.mode == Mode::sync) {
    order_ = addition_order(nodes, rules_.leaves);
  } else {
    parts_.assign(index_of(ranks), 1);
    order_ = {0};
  }
}

std::int64_t Aggregator::parts_of(std::int64_t rank) const {
  return gate_.knows(rank) ? parts_[index_of(rank)] : 0;
}

Leaves Aggregator::leaves_of_rank(std::int64_t rank) const {
  if (rules_.gate.mode == Mode::async) return {rank, rank + 1};
  return leaves_of(rank, rules_.gate.ranks, rules_.leaves);
}

std::int64_t Aggregator::bytes_of(const Push& push) const {
  const std::int64_t one = gradient_bytes(rules_.wire, rules_.share) +
                           (push.residuals ? shard_.elements() * float_bytes : 0);
  return parts_of(push.rank) * one;
}

std::int64_t Aggregator::frame_bytes_max() const {
  const std::int64_t floats = elements() * float_bytes;
  const std::int64_t one =
      rules_.wire == Wire::onebit ? gradient_bytes(rules_.wire, rules_.share) + floats : floats;
  return std::max(std::int64_t{1}, *std::ranges::max_element(parts_)) * one;
}

void Aggregator::push(Push push, Reply reply) {
  if (broken_) return reply(*broken_);
  if (push.residuals && rules_.wire != Wire::onebit) {
    return reply(invalid("residuals, where the wire has none"));
  }
  if (gate_.knows(push.rank) && push.gradient.bytes() != bytes_of(push)) {
    return reply(invalid("a gradient of " + std::to_string(push.gradient.bytes()) + " bytes, not " +
                         std::to_string(bytes_of(push))));
  }

  if (push.base_version < 0 || push.base_version > gate_.version()) {
    return reply(conflict("base version " + std::to_string(push.base_version) +
                          " never was: this ps is at version " + std::to_string(gate_.version())));
  }

  if (rules_.gate.mode == Mode::sync && push.base_version != push.step - 1) {
    return reply(conflict("step " + std::to_string(push.step) + " needs a gradient of version " +
                          std::to_string(push.step - 1) + ", not of " +
                          std::to_string(push.base_version)));
  }

  using enum VersionGate::Verdict;
  switch (gate_.judge(push.rank, push.step)) {
    case accept:
      if (rows_ && !rows_->has(push.rank, push.step)) {
        return reply(conflict("step " + std::to_string(push.step) + " of rank " +
                              std::to_string(push.rank) + " has no gradients of rows"));
      }
      return this->accept(std::move(push), std::move(reply));
    case duplicate: {
      const bool sync = rules_.gate.mode == Mode::sync;
      return pull(push.rank, sync ? push.step : 0, std::move(reply));
    }
    case finished: return pull(push.rank, 0, std::move(reply));
    case out_of_order:
      return reply(conflict("step " + std::to_string(push.step) + " of rank " +
                            std::to_string(push.rank) + " cannot follow version " +
                            std::to_string(gate_.version())));
    case unknown_rank:
      return reply(invalid("rank " + std::to_string(push.rank) + " is not one of " +
                           std::to_string(rules_.gate.ranks)));
  }
}

void Aggregator::pull(std::int64_t rank, std::int64_t at_least, Reply reply) {
  if (!gate_.knows(rank)) {
    return reply(invalid("rank " + std::to_string(rank) + " is not one of " +
                         std::to_string(rules_.gate.ranks)));
  }
  if (lost_[index_of(rank)]) welcome_back(index_of(rank));
  if (gate_.version() >= at_least && may_go_on(index_of(rank))) return answer(rank, reply);
  if (broken_) return reply(*broken_);
  waiting_[index_of(rank)] = {std::move(reply), at_least};
}

Result<std::vector<float>> Aggregator::read_rows(std::span<const std::int64_t> ids) const {
  if (!rows_) return invalid("this job has no embedding table");
  std::vector<float> rows(ids.size() * static_cast<std::size_t>(rows_->width()));
  TRY(rows_->read(ids, rows));
  return rows;
}

Status Aggregator::stage_rows(std::int64_t rank, std::int64_t step,
                              std::vector<RowGradients> parts) {
  if (!rows_) return invalid("this job has no embedding table");
  if (parts_of(rank) != std::ssize(parts)) {
    return invalid(std::to_string(parts.size()) + " parts of rows from rank " +
                   std::to_string(rank) + ", which has " + std::to_string(parts_of(rank)));
  }
  // What else may be wrong with the step the push that follows is told.
  if (gate_.judge(rank, step) != VersionGate::Verdict::accept) return ok();
  return rows_->stage(rank, step, std::move(parts));
}

// Steps since this ps started, so that a rank that is new after a restore starts with the others.
std::int64_t Aggregator::clock_of(std::size_t rank) const {
  return gate_.rank_steps()[rank] - first_steps_[rank];
}

// Stale synchronous parallel: a rank waits for its parameters while it is more than max_staleness
// steps ahead of the slowest. The slowest never waits, so somebody always goes on. (Ho et al., More
// Effective Distributed ML via a Stale Synchronous Parallel Parameter Server, 2013.)
bool Aggregator::may_go_on(std::size_t rank) const {
  if (!rules_.max_staleness || rules_.gate.mode == Mode::sync || gate_.finished()) return true;
  std::int64_t slowest = clock_of(rank);
  for (std::size_t other = 0; other < lost_.size(); ++other) {
    if (!lost_[other]) slowest = std::min(slowest, clock_of(other));
  }
  return clock_of(rank) - slowest <= *rules_.max_staleness;
}

// Its clock goes on beside the slowest of the others, which would else wait until it has made all
// the steps that it missed.
void Aggregator::welcome_back(std::size_t rank) {
  lost_[rank] = false;
  told_[rank] = false;
  std::optional<std::int64_t> slowest;
  for (std::size_t other = 0; other < lost_.size(); ++other) {
    if (lost_[other] || other == rank) continue;
    slowest = std::min(slowest.value_or(clock_of(other)), clock_of(other));
  }
  const std::int64_t missed = slowest ? *slowest - clock_of(rank) : 0;
  if (missed > 0) first_steps_[rank] -= missed;
}

void Aggregator::accept(Push push, Reply reply) {
  const std::int64_t rank = push.rank;
  gate_.accept(rank, push.step);
  if (lost_[index_of(rank)]) welcome_back(index_of(rank));
  waiting_[index_of(rank)] = {std::move(reply), gate_.version() + 1};
  push.sums.staleness = gate_.version() - push.base_version;
  if (rules_.gate.mode == Mode::async) push.sums.stale.add(push.sums.staleness);
  std::erase_if(restored_, [leaves = leaves_of_rank(rank)](const auto& each) {
    return leaves.begin <= each->leaf && each->leaf < leaves.end;
  });
  pending_[index_of(rank)] = std::move(push);
  if (gate_.complete()) commit();
}

TreeSum Aggregator::sum_of_pending(std::size_t begin) const {
  std::vector<GradientReader> parts;
  const std::int64_t part_bytes = gradient_bytes(rules_.wire, rules_.share);
  for (const auto& push : pending_) {
    if (!push) continue;
    for (std::int64_t part = 0; part < parts_of(push->rank); ++part) {
      parts.emplace_back(rules_.wire, rules_.share, push->gradient, part * part_bytes,
                         static_cast<std::int64_t>(begin));
    }
  }
  return {std::move(parts), order_};
}

LeafResiduals Aggregator::residuals_of(const Push& push) const {
  LeafResiduals residuals;
  if (!push.residuals) return residuals;
  const std::int64_t parts = parts_of(push.rank);
  PayloadReader reader(push.gradient, parts * gradient_bytes(rules_.wire, rules_.share));
  for (std::int64_t part = 0; part < parts; ++part) {
    LeafResidual residual{.leaf = leaves_of_rank(push.rank).begin + part,
                          .values = AlignedBuffer(static_cast<std::size_t>(elements()))};
    reader.read(residual.values.span());
    residuals.push_back(std::make_shared<const LeafResidual>(std::move(residual)));
  }
  return residuals;
}

Result<std::shared_ptr<const LeafResidual>> Aggregator::residual_of(std::int64_t leaf) const {
  const auto found = std::ranges::find_if(
      restored_, [leaf](const auto& residual) { return residual->leaf == leaf; });
  if (found == restored_.end()) return not_found("no residual of leaf " + std::to_string(leaf));
  return *found;
}

void Aggregator::commit() {
  BatchSums sums;
  std::int64_t snapshot_step = 0;
  residuals_.clear();
  for (const auto& push : pending_) {
    if (!push) continue;
    sums += push->sums;
    snapshot_step = std::max(snapshot_step, push->snapshot_step);
    next_snapshot_ = std::max(next_snapshot_, push->announced_snapshot);
    std::ranges::move(residuals_of(*push), std::back_inserter(residuals_));
  }

  const auto start = std::chrono::steady_clock::now();
  const ParameterShard::Update update = update_to(gate_.version() + 1, sums);
  shard_.apply([this](std::size_t begin) { return sum_of_pending(begin); }, update);
  const RowGradients rows = apply_rows(update);
  const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - start;
  apply_seconds_ = lasted.count();
  gate_.commit();
  if (rules_.gate.mode == Mode::async) note_in_cut(rows);
  for (auto& push : pending_) push.reset();
  for (BatchSums& unseen : unseen_) unseen += sums;

  if (snapshot_step > 0 && rules_.gate.mode == Mode::sync) take_snapshot(snapshot_step);
  if (snapshot_at_) snapshot_at(*std::exchange(snapshot_at_, std::nullopt));
  answer_waiting();
}

// The sum of what was applied to the table's rows; nothing where there is no table.
RowGradients Aggregator::apply_rows(const ParameterShard::Update& update) {
  if (!rows_) return {};
  std::vector<std::int64_t> ranks;
  for (const auto& push : pending_) {
    if (push) ranks.push_back(push->rank);
  }
  RowGradients sum = rows_->take_sum(ranks, order_);
  rows_->table().apply(sum, row_update(update));
  return sum;
}

// In async of one push, in sync of as many as are never stale.
ParameterShard::Update Aggregator::update_to(std::int64_t version, const BatchSums& sums) const {
  const double rate = learning_rate_at(rules_.optimizer, version, rules_.gate.max_steps);
  return {.learning_rate = rate * staleness_factor(rules_.staleness_scaling, sums.staleness),
          .step = version,
          .gradient_scale = 1.0F / static_cast<float>(sums.examples)};
}

// The one push of this commit, in the snapshot that is being made or that it asks for.
void Aggregator::note_in_cut(const RowGradients& rows) {
  const auto push =
      std::ranges::find_if(pending_, [](const auto& each) { return each.has_value(); });
  const std::int64_t rank = (*push)->rank;
  if (cut_ && cut_->wants(rank)) {
    const ParameterShard::Update update = update_to(cut_->version() + 1, (*push)->sums);
    if (rows_) cut_->apply_rows(rows, row_update(update));
    cut_->apply(
        rank, (*push)->step, [this](std::size_t begin) { return sum_of_pending(begin); }, update);
  }
  const std::int64_t asked = (*push)->snapshot_step;
  if (asked > 0 && (!cut_ || asked > cut_->step())) {
    cut_.emplace(asked, shard_.fork(), gate_.version(), gate_.rank_steps());
    if (rows_) cut_->keep_rows(rows_->table().fork());
    for (std::size_t other = 0; other < lost_.size(); ++other) {
      if (lost_[other]) cut_->close(static_cast<std::int64_t>(other));
    }
  }
  if (cut_ && asked == cut_->step()) cut_->close(rank, residuals_);
  residuals_.clear();  // those of one rank are no snapshot's
  finish_cut_if_complete();
}

// Nobody pushes any more once training is over: then it is what it is.
void Aggregator::finish_cut_if_complete() {
  if (!cut_ || (!cut_->is_complete() && !gate_.finished())) return;
  sink_(std::move(*cut_).take());
  cut_.reset();
}

void Aggregator::snapshot_at(std::int64_t step) {
  if (cut_ && cut_->step() == step) return;
  if (gate_.version() >= step) {
    take_snapshot(step);
  } else {
    snapshot_at_ = step;
  }
}

void Aggregator::take_snapshot(std::int64_t step) {
  sink_({.step = step,
         .version = gate_.version(),
         .rank_steps = gate_.rank_steps(),
         .weights = shard_.weights(),
         .slots = copy_of(shard_.slots()),
         .residuals = residuals_,
         .rows = rows_ ? std::optional(rows_->table().fork()) : std::nullopt});
}

std::int64_t Aggregator::asked_of(std::int64_t rank) const {
  if (rules_.gate.mode == Mode::sync) return next_snapshot_ > gate_.version() ? next_snapshot_ : 0;
  return cut_ && cut_->wants(rank) ? cut_->step() : 0;
}

void Aggregator::answer(std::int64_t rank, const Reply& reply) {
  if (gate_.finished()) told_[index_of(rank)] = true;
  reply(Answer{.weights = shard_.weights(),
               .version = gate_.version(),
               .rank_step = gate_.rank_steps()[index_of(rank)],
               .sums = std::exchange(unseen_[index_of(rank)], {}),
               .asked_snapshot = asked_of(rank),
               .apply_seconds = apply_seconds_});
}

void Aggregator::answer_waiting() {
  for (std::size_t rank = 0; rank < waiting_.size(); ++rank) {
    if (!waiting_[rank].reply || waiting_[rank].at_least > gate_.version()) continue;
    if (!may_go_on(rank)) continue;
    const Waiting waiting = std::exchange(waiting_[rank], {});
    answer(static_cast<std::int64_t>(rank), waiting.reply);
  }
}

void Aggregator::miss(std::int64_t rank) {
  if (gate_.knows(rank)) {
    waiting_[index_of(rank)] = {};
    told_[index_of(rank)] = true;
    lost_[index_of(rank)] = true;
    if (cut_) cut_->close(rank);
    finish_cut_if_complete();
  }
  if (rules_.gate.mode != Mode::sync) answer_waiting();  // nobody waits for who is gone
}

void Aggregator::lose(std::int64_t rank, const std::string& why) {
  miss(rank);
  if (rules_.gate.mode != Mode::sync) return;
  if (gate_.finished() || broken_) return;
  broken_ = unavailable(why);
  for (Waiting& waiting : waiting_) {
    if (const Reply reply = std::exchange(waiting.reply, nullptr)) reply(*broken_);
  }
}

}  // namespace trainyard::runtime

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
#include "schemas/base/index.h"

namespace trainyard::runtime {
Aggregator::Aggregator(Rules rules, ParameterShard shard, Start start, SnapshotSink sink,
                       std::optional<RowTable> rows)
    : rules_(std::move(rules)),
      gate_(rules_.gate, start.version, std::move(start.rank_steps)),
      turns_(rules_.gate.ranks, rules_.gate.max_steps),
      shard_(std::move(shard)),
      sink_(std::move(sink)),
      pending_(index_of(rules_.gate.ranks)),
      begun_(pending_.size()),
      tail_sinks_(pending_.size()),
      waiting_(pending_.size()),
      first_steps_(gate_.rank_steps()),
      lost_(pending_.size()),
      idle_(pending_.size()),
      gone_(pending_.size()),
      unseen_(pending_.size()),
      told_(pending_.size()),
      restored_(std::move(start.residuals)),
      residual_leaves_(std::ssize(restored_)),
      awaits_clocks_(start.first_steps.has_value()),
      lost_updates_(start.lost) {
  const std::int64_t ranks = rules_.gate.ranks;
  if (awaits_clocks_) {
    ENSURE(rules_.gate.mode == Mode::async && !rows);
    clocks_.emplace(gate_.version(), gate_.rank_steps());
    first_steps_ = *std::move(start.first_steps);
    first_steps_.resize(lost_.size());
    deferred_.resize(lost_.size());
  }
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
  if (rules_.backups) {
    ENSURE(rules_.gate.mode == Mode::sync && rules_.leaves == ranks && rules_.wire != Wire::onebit);
    backups_.emplace(*rules_.backups, gate_.version());
  }
  if (rules_.names_heirs) {
    ENSURE(rules_.gate.mode == Mode::sync && rules_.wire != Wire::onebit && !backups_ && !rows_);
    heirs_.emplace(ranks);
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

Status Aggregator::check_size(std::int64_t rank, WithResiduals residuals,
                              std::int64_t bytes) const {
  const bool with = residuals == WithResiduals::yes;
  if (with && rules_.wire != Wire::onebit) return invalid("residuals, where the wire has none");
  if (!gate_.knows(rank)) {
    return invalid("rank " + std::to_string(rank) + " is not one of " +
                   std::to_string(rules_.gate.ranks));
  }
  const std::int64_t one =
      gradient_bytes(rules_.wire, rules_.share) + (with ? shard_.elements() * float_bytes : 0);
  const std::int64_t all = parts_of(rank) * one;
  if (bytes == all) return ok();
  return invalid("a gradient of " + std::to_string(bytes) + " bytes, not " + std::to_string(all));
}

std::int64_t Aggregator::frame_bytes_max() const {
  const std::int64_t floats = elements() * float_bytes;
  const std::int64_t one =
      rules_.wire == Wire::onebit ? gradient_bytes(rules_.wire, rules_.share) + floats : floats;
  return std::max(std::int64_t{1}, *std::ranges::max_element(parts_)) * one;
}

void Aggregator::push(Push push, Reply reply) {
  if (broken_) return reply(*broken_);
  if (awaits_clocks_ && gate_.knows(push.rank)) {
    return wait_for_clocks(push.rank, [this, push, reply] { this->push(push, reply); });
  }
  // What it was computed from may be of an earlier process of this ps, and is counted no more.
  if (clocks_) push.base_version = std::min(push.base_version, gate_.version());
  const auto residuals = push.residuals ? WithResiduals::yes : WithResiduals::no;
  const Status size = check_size(push.rank, residuals, push.gradient.bytes());
  if (!size.has_value()) return reply(size.error());

  if (push.base_version < 0 || push.base_version > gate_.version()) {
    return reply(conflict("base version " + std::to_string(push.base_version) +
                          " never was: this ps is at version " + std::to_string(gate_.version())));
  }

  if (rules_.gate.mode == Mode::sync && push.step != push.base_version + 1) {
    return reply(conflict("step " + std::to_string(push.step) +
                          " cannot be made from a gradient of version " +
                          std::to_string(push.base_version)));
  }

  if (backups_ && gate_.knows(push.rank)) {
    return push_among_backups(std::move(push), std::move(reply));
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
      return pull({.rank = push.rank, .at_least = sync ? push.step : 0}, std::move(reply));
    }
    case finished: return pull({.rank = push.rank}, std::move(reply));
    case out_of_order:
      return reply(conflict("step " + std::to_string(push.step) + " of rank " +
                            std::to_string(push.rank) + " cannot follow version " +
                            std::to_string(gate_.version())));
    case unknown_rank:
      return reply(invalid("rank " + std::to_string(push.rank) + " is not one of " +
                           std::to_string(rules_.gate.ranks)));
  }
}

void Aggregator::pull(const Pull& pull, Reply reply) {
  if (!gate_.knows(pull.rank)) {
    return reply(invalid("rank " + std::to_string(pull.rank) + " is not one of " +
                         std::to_string(rules_.gate.ranks)));
  }
  const std::size_t rank = index_of(pull.rank);
  if (awaits_clocks_) {
    return wait_for_clocks(pull.rank, [this, pull, reply] { this->pull(pull, reply); });
  }
  if (lost_[rank]) welcome_back(rank);
  if (backups_) backups_->come(pull.rank);
  if (heirs_) heirs_->come(pull.rank);
  waiting_[rank] = {};  // what an earlier process of the task waits for, it waits for no more
  if (pull.exactly) return pull_exactly(pull, reply);
  idle_[rank] = pull.for_turn;
  Waiting waiting{std::move(reply), pull.at_least, pull.for_turn};
  if (can_answer(rank, waiting)) {
    answer(pull.rank, waiting.reply);
    if (pull.for_turn) answer_waiting();
    return;
  }
  if (broken_) return waiting.reply(*broken_);
  waiting_[rank] = std::move(waiting);
  if (pull.for_turn) answer_waiting();
  end_if_all_wait();
  name_heirs();
}

// A rank that pulls the version before still has to make the newest: it is not told of it.
void Aggregator::pull_exactly(const Pull& pull, const Reply& reply) {
  const bool is_past = rules_.keeps_previous && pull.at_least < gate_.version() - 1;
  if (is_past || pull.at_least == gate_.version()) return answer(pull.rank, reply);
  if (!previous_ || pull.at_least != gate_.version() - 1) {
    return reply(conflict("version " + std::to_string(pull.at_least) +
                          " is not kept: this ps is at version " +
                          std::to_string(gate_.version())));
  }
  Answer given = answer_to(index_of(pull.rank));
  given.weights = previous_;
  given.version = pull.at_least;
  reply(std::move(given));
}

// A turn that is there is the rank's from now on.
bool Aggregator::can_answer(std::size_t rank, const Waiting& waiting) {
  if (waiting.for_turn && take_turn(rank)) return true;
  return (gate_.version() >= waiting.at_least || gate_.finished()) && may_go_on(rank);
}

// Async, at the end, on a ps that misses a push of a rank that died: who pushes no more waits for
// the last version here, and nobody is left to make it. Of whom a ps that is back has never heard
// went home.
void Aggregator::end_if_all_wait() {
  if (rules_.gate.mode != Mode::async || gate_.finished()) return;
  bool anybody = false;
  for (std::size_t rank = 0; rank < waiting_.size(); ++rank) {
    const bool waits = static_cast<bool>(waiting_[rank].reply);
    const bool is_unheard = clocks_ && !clocks_->has_told(static_cast<std::int64_t>(rank));
    if (!waits && !gone_[rank] && !is_unheard) return;
    anybody |= waits;
  }
  if (!anybody) return;
  gate_.end();
  finish_cut_if_complete();
  if (snapshot_at_) snapshot_at(*std::exchange(snapshot_at_, std::nullopt));
  answer_waiting();
}

void Aggregator::accept(Push push, Reply reply) {
  const std::int64_t rank = push.rank;
  gate_.accept(rank, push.step);
  turns_.give_back(index_of(rank));
  idle_[index_of(rank)] = false;
  if (lost_[index_of(rank)]) welcome_back(index_of(rank));
  if (heirs_) heirs_->come(rank);
  waiting_[index_of(rank)] = {.reply = std::move(reply), .at_least = gate_.version() + 1};
  hold(std::move(push));
  end_if_all_wait();
  name_heirs();
}

// What the gate has accepted. The last one makes the step.
void Aggregator::hold(Push push) {
  const std::int64_t rank = push.rank;
  push.sums.staleness = gate_.version() - push.base_version;
  if (rules_.gate.mode == Mode::async) push.sums.stale.add(push.sums.staleness);
  std::erase_if(restored_, [leaves = leaves_of_rank(rank)](const auto& each) {
    return leaves.begin <= each->leaf && each->leaf < leaves.end;
  });
  pending_[index_of(rank)] = std::move(push);
  begun_[index_of(rank)].reset();
  if (gate_.complete()) return commit();
  update_tail();  // others may have begun theirs
}

TreeSum Aggregator::sum_of_pushes(std::size_t begin) const {
  std::vector<GradientReader> parts;
  const std::int64_t part_bytes = gradient_bytes(rules_.wire, rules_.share);
  for (std::size_t rank = 0; rank < pending_.size(); ++rank) {
    const Push* const push = push_of(rank);
    if (push == nullptr) continue;
    for (std::int64_t part = 0; part < parts_of(push->rank); ++part) {
      parts.emplace_back(rules_.wire, rules_.share, push->gradient, part * part_bytes,
                         static_cast<std::int64_t>(begin));
    }
  }
  return {std::move(parts), order_};
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
  if (rules_.keeps_previous) previous_ = shard_.weights();
  choose_room();
  shard_.apply([this](std::size_t begin) { return sum_of_pushes(begin); }, update);
  const RowGradients rows = apply_rows(update);
  const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - start;
  apply_seconds_ = lasted.count();
  if (backups_) {
    gate_.commit_decided();
  } else {
    gate_.commit();
  }
  if (rules_.gate.mode == Mode::async) note_in_cut(rows);
  if (heirs_) heirs_->commit();
  for (auto& push : pending_) push.reset();
  for (TailSink& sink : tail_sinks_) sink = nullptr;
  for (BatchSums& unseen : unseen_) unseen += sums;

  if (snapshot_step > 0 && rules_.gate.mode == Mode::sync) take_snapshot(snapshot_step);
  if (snapshot_at_) snapshot_at(*std::exchange(snapshot_at_, std::nullopt));
  answer_waiting();
}

// In async of one push, in sync of as many as are never stale.
ParameterShard::Update Aggregator::update_to(std::int64_t version, const BatchSums& sums) const {
  const double rate = learning_rate_at(rules_.optimizer, version, rules_.gate.max_steps);
  return {.learning_rate = rate * staleness_factor(rules_.staleness_scaling, sums.staleness),
          .step = version,
          .gradient_scale = 1.0F / static_cast<float>(sums.examples)};
}

Answer Aggregator::answer_to(std::size_t rank) {
  return {.weights = shard_.weights(),
          .version = gate_.version(),
          .rank_step = gate_.rank_steps()[rank],
          .sums = std::exchange(unseen_[rank], {}),
          .asked_snapshot = asked_of(static_cast<std::int64_t>(rank)),
          .apply_seconds = apply_seconds_,
          .turn = take_turn(rank),
          .clock = clock_of(rank),
          .lost_updates = lost_updates_,
          .made = backups_ ? backups_->newest() : MadeStep()};
}

bool Aggregator::take_turn(std::size_t rank) {
  if (rules_.gate.mode == Mode::sync || !rules_.gives_turns) return false;
  const bool taken = !is_held(rank) && turns_.take(rank, gate_.version());
  if (taken) idle_[rank] = false;
  return taken;
}

// While somebody is away an heir may have to come again, though it was answered with the last
// version.
void Aggregator::answer(std::int64_t rank, const Reply& reply) {
  if (gate_.finished() && (!heirs_ || heirs_->all_there())) told_[index_of(rank)] = true;
  reply(answer_to(index_of(rank)));
}

void Aggregator::answer_waiting() {
  for (std::size_t rank = 0; rank < waiting_.size(); ++rank) {
    if (!waiting_[rank].reply || !can_answer(rank, waiting_[rank])) continue;
    const Waiting waiting = std::exchange(waiting_[rank], {});
    answer(static_cast<std::int64_t>(rank), waiting.reply);
  }
}

void Aggregator::end_well(std::int64_t rank) {
  if (backups_) return miss(rank);
  if (!gate_.knows(rank)) return;
  drop_begun(index_of(rank));
  told_[index_of(rank)] = true;
}

void Aggregator::miss(std::int64_t rank) {
  if (gate_.knows(rank)) {
    waiting_[index_of(rank)] = {};
    drop_begun(index_of(rank));
    told_[index_of(rank)] = true;
    lost_[index_of(rank)] = true;
    if (awaits_clocks_) deferred_[index_of(rank)] = nullptr;
    if (cut_) cut_->close(rank);
    finish_cut_if_complete();
    if (backups_) backups_->gone(rank);
    if (heirs_) heirs_->gone(rank);
  }
  if (backups_) return commit_if_decided();
  if (rules_.gate.mode != Mode::sync) answer_waiting();  // nobody waits for who is gone
  name_heirs();
}

void Aggregator::lose(std::int64_t rank, const std::string& why) {
  // Not before: its push may be on other ps already, and is sent again when it comes back.
  if (gate_.knows(rank)) turns_.give_back(index_of(rank));
  miss(rank);
  if (gate_.knows(rank)) gone_[index_of(rank)] = true;
  if (backups_) return;
  if (awaits_clocks_ && gate_.knows(rank)) {
    clocks_->give_up(rank);
    return go_on_if_told();
  }
  if (rules_.gate.mode != Mode::sync) return end_if_all_wait();
  if (gate_.finished() || broken_) return;
  broken_ = unavailable(why);
  for (Waiting& waiting : waiting_) {
    if (const Reply reply = std::exchange(waiting.reply, nullptr)) reply(*broken_);
  }
}

}  // namespace trainyard::runtime

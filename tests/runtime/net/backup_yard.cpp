#include "tests/runtime/net/backup_yard.h"

#include <algorithm>
#include <functional>
#include <set>

#include "runtime/core/schedule.h"

namespace trainyard::runtime::test {
namespace {

constexpr std::size_t elements = 16;
constexpr std::int64_t examples = 10;  // of every batch
constexpr std::int64_t unknown = -1;   // a version
const Share whole{.ranges = {{0, elements}}};

// Whole numbers, so that their sums have one value.
float gradient_of(std::int64_t rank, std::int64_t step) {
  return static_cast<float>(1 + rank + 3 * (step % 5));
}

}  // namespace

BackupYard::BackupYard(YardSpec spec)
    : spec_(spec),
      random_(spec.seed),
      snapshots_(static_cast<std::size_t>(spec.ps)),
      known_gone_(static_cast<std::size_t>(spec.workers)) {
  for (std::int64_t i = 0; i < spec.ps; ++i) {
    using enum BackupSteps::Part;
    Aggregator::Rules rules{
        .gate = {.mode = Mode::sync, .ranks = spec.workers, .max_steps = spec.max_steps},
        .optimizer = {}};
    rules.backups = {.part = spec.ps == 1 ? alone
                             : i == 0     ? leads
                                          : follows,
                     .ranks = spec.workers,
                     .aggregate = spec.aggregate,
                     .max_steps = spec.max_steps};
    auto& taken = snapshots_[static_cast<std::size_t>(i)];
    ps_.emplace_back(rules, ParameterShard({}, AlignedBuffer(elements), {}), Aggregator::Start{},
                     [&taken](Snapshot snapshot) { taken.push_back(std::move(snapshot)); });
  }
  for (std::int64_t rank = 0; rank < spec.workers; ++rank) {
    Worker& worker = workers_.emplace_back();
    worker.rank = rank;
    worker.pace = chance(3) == 0 ? 3 : 100;
    worker.versions.resize(ps_.size());
    worker.links.resize(ps_.size());
  }
}

bool BackupYard::run() {
  const auto is_done = [](const Worker& worker) {
    return !worker.alive || worker.phase == Phase::done;
  };
  while (fault.empty() && !std::ranges::all_of(workers_, is_done)) {
    if (!act()) return false;
  }
  return true;
}

// One thing that can happen now, at random; false where nothing can.
bool BackupYard::act() {
  std::vector<std::function<void()>> can;
  for (Worker& worker : workers_) {
    const bool has_turn = chance(100) < static_cast<std::size_t>(worker.pace);
    for (std::size_t i = 0; i < ps_.size(); ++i) {
      const Link& link = worker.links[i];
      if (link.up) can.emplace_back([&, i] { deliver_up(worker, i); });
      if (link.closing) can.emplace_back([&, i] { notice(worker, i); });
      if (link.down && has_turn && !is_early(worker, i))
        can.emplace_back([&, i] { deliver_down(worker, i); });
    }
    if (!worker.alive) {
      if (chance(20) == 0) {
        can.emplace_back([&] {
          worker.alive = true;
          worker.phase = Phase::starting;
        });
      }
      continue;
    }
    if (worker.phase == Phase::starting) can.emplace_back([&] { ask_lead(worker, false, 0); });
    if (worker.phase == Phase::computes && has_turn) can.emplace_back([&] { push(worker); });
    const bool may_die = worker.rank > 0 && deaths_ < spec_.deaths && chance(40) == 0;
    if (may_die) can.emplace_back([&] { die(worker); });
  }
  if (!can.empty()) {
    can[chance(can.size())]();
    return true;
  }
  // A slow one may just not have had its turn.
  return std::ranges::any_of(workers_, [](const Worker& worker) {
    const bool has_answer =
        std::ranges::any_of(worker.links, [](const Link& link) { return link.down.has_value(); });
    return has_answer || !worker.alive || worker.phase == Phase::computes;
  });
}

// Of a worker that hurries: frames on one stream are answered one after another.
bool BackupYard::is_early(const Worker& worker, std::size_t ps) const {
  if (!hurries() || ps > 0 || worker.phase != Phase::waits_for_lead) return false;
  return std::any_of(worker.links.begin() + 1, worker.links.end(),
                     [](const Link& link) { return link.up || link.down; });
}

void BackupYard::deliver_up(Worker& worker, std::size_t ps) {
  Link& link = worker.links[ps];
  Request request = *std::exchange(link.up, std::nullopt);
  if (request.process < link.process) return;  // another process of the task has come
  if (request.process > link.process) link.closing = false;
  link.process = request.process;
  if (ps == 0) known_gone_[static_cast<std::size_t>(worker.rank)] = false;
  const auto reply = [this, &worker, &link, process = request.process](Result<Answer> answer) {
    if (!answer.has_value()) {
      fault = answer.error().message;
    } else if (process == worker.process) {
      link.down = *std::move(answer);
    }
  };
  Aggregator& to = ps_[ps];
  if (request.made.version > 0) {
    if (const Status told = to.tell(request.made); !told.has_value()) {
      fault = told.error().message;
      return;
    }
    compare(ps);
  }
  if (request.push) {
    using enum BackupSteps::Verdict;
    const auto verdict = to.backups()->judge(worker.rank, request.step);
    if (ps == 0 && (verdict == hold || verdict == late)) ++pushed_;
    if (ps == 0 && verdict == late && request.push->snapshot_step > 0) asked_late_ = to.version();
    to.push(*std::move(request.push), reply);
  } else if (request.ready) {
    to.ready(worker.rank, request.step, reply);
  } else {
    to.pull({.rank = worker.rank, .at_least = request.step}, reply);
  }
  compare(ps);
}

void BackupYard::deliver_down(Worker& worker, std::size_t ps) {
  const Answer answer = *std::exchange(worker.links[ps].down, std::nullopt);
  if (hurries() && ps > 0 && worker.phase == Phase::waits_for_lead) return;
  const bool pushes = worker.phase == Phase::waits_for_holds;
  if (pushes != (answer.weights == nullptr))
    fault = "parameters where there should be none, or none";
  if (worker.phase == Phase::waits_for_lead) return answer_from_lead(worker, answer);
  if (ps == 0 && worker.phase == Phase::waits_for_others) take_from_lead(worker, answer);
  worker.versions[ps] = answer.version;
  if (hurries() && pushes && ps == 0) return ask_lead(worker, true, worker.pushed_step);
  if (std::ranges::count(worker.versions, unknown) > 0) return;
  if (pushes) return ask_lead(worker, true, worker.pushed_step);
  others_have_answered(worker);
}

void BackupYard::ask_lead(Worker& worker, bool ready, std::int64_t step) {
  worker.phase = Phase::waits_for_lead;
  worker.links[0].up =
      Request{.push = {}, .ready = ready, .step = step, .made = {}, .process = worker.process};
}

void BackupYard::take_from_lead(Worker& worker, const Answer& answer) {
  if (worker.rank == 0) told_ += answer.sums;
  worker.version = answer.version;
  worker.made = answer.made;
}

void BackupYard::answer_from_lead(Worker& worker, const Answer& answer) {
  take_from_lead(worker, answer);
  if (worker.pushed_step > 0) {
    const bool mine = answer.made.version == worker.pushed_step && answer.made.has(worker.rank);
    contributed_ += mine ? 1 : 0;
    worker.pushed_step = 0;
  }
  worker.versions.assign(ps_.size(), unknown);
  worker.versions[0] = answer.version;
  worker.phase = Phase::waits_for_others;
  tell_others(worker);
  if (ps_.size() == 1) others_have_answered(worker);
}

void BackupYard::tell_others(Worker& worker) {
  const bool tells = spec_.without != YardSpec::Without::telling_the_others;
  for (std::size_t i = 1; i < ps_.size(); ++i) {
    worker.links[i].up = Request{.push = {},
                                 .step = worker.version,
                                 .made = tells ? worker.made : MadeStep(),
                                 .process = worker.process};
  }
}

// Until all have answered with one version: all are asked again at once.
void BackupYard::others_have_answered(Worker& worker) {
  const auto [oldest, newest] = std::ranges::minmax(worker.versions);
  if (oldest != newest) {
    worker.versions.assign(ps_.size(), unknown);
    tell_others(worker);
    worker.links[0].up =
        Request{.push = {}, .ready = false, .step = newest, .made = {}, .process = worker.process};
    return;
  }
  worker.phase = worker.version >= spec_.max_steps ? Phase::done : Phase::computes;
}

// Gradients lie in the worker's own memory, which the ps read in place: what is written too early
// spoils a step.
void BackupYard::push(Worker& worker) {
  const std::int64_t step = worker.version + 1;
  if (!worker.arena) worker.arena = std::make_shared<AlignedBuffer>(elements);
  std::ranges::fill(worker.arena->span(), gradient_of(worker.rank, step));
  const bool asks = worker.rank == 0 && chance(3) == 0;
  if (asks) ++snapshots_asked_;
  worker.pushed_step = step;
  worker.versions.assign(ps_.size(), unknown);
  worker.phase = ps_.size() == 1 ? Phase::waits_for_lead : Phase::waits_for_holds;
  for (Link& link : worker.links) {
    Payload gradient = payload_of(worker.arena->span(), whole);
    gradient.owner = worker.arena;
    link.up = Request{.push = Push{.rank = worker.rank,
                                   .step = step,
                                   .base_version = worker.version,
                                   .sums = {.examples = examples, .loss_sum = 1, .correct = 1},
                                   .snapshot_step = asks ? step : 0,
                                   .gradient = std::move(gradient)},
                      .step = step,
                      .made = {},
                      .process = worker.process};
  }
}

void BackupYard::die(Worker& worker) {
  ++deaths_;
  ++worker.process;
  worker.alive = false;
  worker.arena.reset();  // the ps keep what they hold of it
  worker.pushed_step = 0;
  for (Link& link : worker.links) {
    if (chance(2) == 0) link.up.reset();  // what is on its way may arrive
    link.down.reset();
    link.closing = link.process >= 0;
  }
}

void BackupYard::notice(Worker& worker, std::size_t ps) {
  Link& link = worker.links[ps];
  link.closing = false;
  if (link.up && link.up->process != worker.process) link.up.reset();
  if (ps == 0) known_gone_[static_cast<std::size_t>(worker.rank)] = true;
  ps_[ps].miss(worker.rank);
  compare(ps);
}

// After whatever may have made a step on this ps.
void BackupYard::compare(std::size_t ps) {
  const MadeStep& newest = ps_[ps].backups()->newest();
  if (newest.version == 0) return;
  const auto [known, is_new] = made_.emplace(newest.version, newest);
  if (is_new && ps > 0) fault = "a step that ps 0 did not make";
  if (known->second != newest) fault = "two ps made a step of different workers";
  if (is_new) check_size(newest);
}

void BackupYard::check_size(const MadeStep& made) {
  const std::set<std::int64_t> distinct(made.ranks.begin(), made.ranks.end());
  if (distinct.size() != made.ranks.size()) fault = "a rank counts twice";
  const auto count = std::ssize(made.ranks);
  std::int64_t others = 0;
  for (std::int64_t rank = 0; rank < spec_.workers; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const bool is_expected = workers_[index].links[0].process >= 0 || made.version == 1;
    if (!made.has(rank) && !known_gone_[index] && is_expected) ++others;
  }
  if (count > spec_.aggregate) fault = "a step of too many";
  if (count < spec_.aggregate && others > 0) fault = "a step that did not wait";
}

std::int64_t BackupYard::applied() const {
  std::int64_t count = 0;
  for (const auto& [version, made] : made_) count += std::ssize(made.ranks);
  return count;
}

std::int64_t BackupYard::dropped() const {
  std::int64_t count = 0;
  for (const std::int64_t of_rank : ps_[0].backups()->dropped()) count += of_rank;
  return count;
}

std::vector<std::vector<std::int64_t>> BackupYard::snapshots() const {
  std::vector<std::vector<std::int64_t>> versions;
  for (const auto& taken : snapshots_) {
    auto& of_ps = versions.emplace_back();
    for (const Snapshot& snapshot : taken) {
      of_ps.push_back(snapshot.step == snapshot.version ? snapshot.version : -1);
    }
  }
  return versions;
}

float BackupYard::expected_weight() const {
  float weight = 0;
  for (const auto& [version, made] : made_) {
    float sum = 0;
    for (const std::int64_t rank : made.ranks) sum += gradient_of(rank, version);
    const float mean = sum / static_cast<float>(examples * std::ssize(made.ranks));
    const double rate = learning_rate_at(OptimizerSpec{}, version, spec_.max_steps);
    weight -= static_cast<float>(rate) * mean;
  }
  return weight;
}

float BackupYard::weight(std::size_t ps) const { return ps_[ps].weights()->span()[0]; }

}  // namespace trainyard::runtime::test

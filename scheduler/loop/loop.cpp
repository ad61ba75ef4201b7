#include "scheduler/loop/loop.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <variant>

#include "schemas/base/clock.h"
#include "schemas/base/log.h"

namespace trainyard::scheduler {
namespace {

constexpr std::size_t inbox_max = 65'536;
constexpr std::size_t answers_max =
    512;  // of one transaction: bounds how long the first of them waits
constexpr std::size_t changes_max = 4096;
constexpr Millis tick_interval{100};
constexpr std::int64_t ticks_per_count = 10;  // agents are counted once a second

struct JobOf {
  const JobId* operator()(const SaveJob& change) const { return &change.job.id; }
  const JobId* operator()(const RemoveJob& change) const { return &change.job; }
  const JobId* operator()(const SaveTask& change) const { return &change.task.key.job; }
  const JobId* operator()(const SaveAgent&) const { return nullptr; }
  const JobId* operator()(const AppendRunEvents& change) const { return &change.task.job; }
  const JobId* operator()(const RollBackMetrics& change) const { return &change.job; }
  const JobId* operator()(const SaveCheckpoint& change) const { return &change.checkpoint.job; }
  const JobId* operator()(const SavePartition& change) const { return &change.job; }
  const JobId* operator()(const AppendJobEvent& change) const { return &change.job; }
};

void log_event(const AppendJobEvent& event) {
  log_info("job", {{"job", event.job.text},
                   {"kind", event.kind},
                   {"message", event.message},
                   {"task", event.task},
                   {"reason", name_of(event.reason)},
                   {"attempt", event.attempt}});
}

}  // namespace

Loop::Loop(Store store, const Artifacts& artifacts, const Limits& limits,
           Scheduler::Counters& counters)
    : store_(std::move(store)),
      artifacts_(artifacts),
      limits_(limits),
      counters_(counters),
      inbox_(inbox_max) {}

Status Loop::prepare(LoopEffects effects) {
  effects_ = std::move(effects);
  return restore();
}

bool Loop::post(Work work) {
  if (inbox_.post(std::move(work))) return true;
  ++counters_.refused;
  return false;
}

void Loop::close() { inbox_.close(); }

void Loop::run() {
  Time next_tick = read_clocks().steady;
  while (true) {
    const Millis wait = std::max(next_tick - read_clocks().steady, Millis{0});
    const std::vector<Work> arrived = inbox_.take_all(std::chrono::milliseconds(wait.count));
    if (arrived.empty() && inbox_.closed()) break;
    counters_.inbox_size = std::ssize(arrived);
    for (const Work& work : arrived) {
      work(*this);
      if (answers_.size() >= answers_max || changes_.size() >= changes_max) commit();
    }
    if (const Time now = read_clocks().steady; now >= next_tick) {
      tick();
      next_tick = now + tick_interval;
    }
    commit();
  }
  ready_ = false;
  if (const Status tidy = store_.tidy_up(); !tidy) {
    log_warning("database not tidied up", {{"error", tidy.error().message}});
  }
}

// --- steps
// ---------------------------------------------------------------------------------------------

Loop::Stepped Loop::step(const Event& event) {
  if (!core_) return {unavailable("the database cannot be written now"), {}};
  Step step = core_->step(event, read_clocks());
  ++counters_.steps;
  for (Assignment& assignment : step.send) {
    AgentId agent = assignment.agent;
    sends_.insert_or_assign(std::move(agent), std::move(assignment));
  }
  std::ranges::move(step.refuse, std::back_inserter(refusals_));
  const std::size_t before = changes_.size();
  std::ranges::move(step.save, std::back_inserter(changes_));
  return {std::move(step.outcome), std::span<const Change>(changes_).subspan(before)};
}

void Loop::tick() {
  if (!core_) {
    if (const Status restored = restore(); !restored) return;
    log_info("database can be written again");
  }
  step(Tick{});
  if (ticks_++ % ticks_per_count == 0) count_agents();
}

void Loop::count_agents() {
  std::array<std::int64_t, Scheduler::Counters::agent_states> counts{};
  for (const AgentView& agent : core_->agents(read_clocks())) {
    ++counts.at(static_cast<std::size_t>(agent.record.state));
  }
  std::ranges::copy(counts, counters_.agents.begin());
}

Result<std::optional<IdempotencyKey>> Loop::find_key(const std::string& key) {
  const auto found = std::ranges::find(keys_, key, &IdempotencyKey::key);
  if (found != keys_.end()) return std::optional(*found);
  return store_.find_key(key);
}

// --- saving
// --------------------------------------------------------------------------------------------

void Loop::commit() {
  do {
    commit_once();
    for (const ArtifactStored& file : std::exchange(found_files_, {})) step(file);
  } while (!changes_.empty());
}

void Loop::commit_once() {
  const Status saved = save();
  const std::vector<Change> changes = std::exchange(changes_, {});
  const std::vector<WhenSaved> answers = std::exchange(answers_, {});
  const std::map<AgentId, Assignment> sends = std::exchange(sends_, {});
  const std::vector<Refusal> refusals = std::exchange(refusals_, {});
  keys_.clear();
  if (!saved) drop_core(saved.error());
  if (saved) {
    for (const auto& [agent, assignment] : sends) effects_.send(assignment);
    for (const Refusal& refusal : refusals) effects_.refuse(refusal);
  }
  for (const WhenSaved& answer : answers) answer(saved);
  if (saved) tell_others(changes);
}

Status Loop::save() {
  if (changes_.empty() && keys_.empty()) return ok();
  const auto start = std::chrono::steady_clock::now();
  TRY(store_.save(changes_, keys_));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ++counters_.saves;
  counters_.save_micros += static_cast<std::int64_t>(took.count() * 1e6);
  const auto bucket = std::ranges::lower_bound(Scheduler::Counters::save_buckets, took.count());
  if (bucket != Scheduler::Counters::save_buckets.end()) {
    ++counters_.saves_within.at(
        static_cast<std::size_t>(bucket - Scheduler::Counters::save_buckets.begin()));
  }
  return ok();
}

void Loop::drop_core(const Error& error) {
  ++counters_.failed_saves;
  core_.reset();
  ready_ = false;
  log_error("save failed", {{"error", error.message}});
}

Status Loop::restore() {
  TRY_ASSIGN(Saved saved, store_.load());
  TRY_ASSIGN(last_sequence_, store_.last_sequence());
  for (const Checkpoint& checkpoint : saved.checkpoints) look_for_files(checkpoint);
  core_ = Cluster::restore(std::move(saved), limits_, read_clocks().steady);
  ready_ = true;
  return ok();
}

void Loop::tell_others(const std::vector<Change>& changes) {
  std::set<JobId> changed;
  for (const Change& change : changes) {
    if (const JobId* job = std::visit(JobOf{}, change)) changed.insert(*job);
    if (const auto* event = std::get_if<AppendJobEvent>(&change)) log_event(*event);
    if (const auto* events = std::get_if<AppendRunEvents>(&change)) {
      counters_.run_events += std::ssize(events->events);
    }
    if (const auto* saved = std::get_if<SaveCheckpoint>(&change)) {
      look_for_files(saved->checkpoint);
      if (saved->checkpoint.state == CheckpointState::deleted) {
        effects_.files_unused(saved->checkpoint.job);
      }
    }
    if (const auto* saved = std::get_if<SaveJob>(&change); saved && is_terminal(saved->job.state)) {
      effects_.files_unused(saved->job.id);
    }
    if (const auto* gone = std::get_if<RemoveJob>(&change)) {
      effects_.removed(gone->job);
      effects_.files_unused(gone->job);
    }
  }
  for (const JobId& job : changed) effects_.announce(job);
}

// A file may have come before its manifest, and before a restart: the word of it is then lost, the
// file is not.
void Loop::look_for_files(const Checkpoint& checkpoint) {
  if (checkpoint.state != CheckpointState::pending) return;
  const auto look = [&](const ArtifactFile& file) {
    const auto found = artifacts_.find(checkpoint.job, file.sha256);
    if (found && found->complete) found_files_.push_back({checkpoint.job, file.sha256});
  };
  look(checkpoint.manifest);
  for (const ArtifactFile& shard : checkpoint.shards) look(shard);
}

}  // namespace trainyard::scheduler

#include "scheduler/loop/loop.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <variant>

#include "schemas/base/clock.h"
#include "schemas/base/log.h"

namespace trainyard::scheduler {
namespace {

constexpr std::size_t inbox_max = 65'536;
constexpr Millis tick_interval{100};
constexpr Millis probe_interval{5'000};
constexpr Millis retry_interval{500};         // of a write that failed
constexpr std::int64_t ticks_per_count = 10;  // agents are counted once a second
constexpr std::int64_t expired_at_once = 50;

struct JobOf {
  const JobId* operator()(const SaveJob& change) const { return &change.job.id; }
  const JobId* operator()(const RemoveJob& change) const { return &change.job; }
  const JobId* operator()(const SaveTask& change) const { return &change.task.key.job; }
  const JobId* operator()(const SaveAgent&) const { return nullptr; }
  const JobId* operator()(const RemoveAgent&) const { return nullptr; }
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

Loop::Loop(Store store, const Artifacts& artifacts, const SchedulerOptions& options,
           Scheduler::Counters& counters)
    : store_(std::move(store)),
      artifacts_(artifacts),
      job_ttl_(options.job_ttl),
      counters_(counters),
      inbox_(inbox_max),
      health_(options.silence_max),
      transactions_(options.limits, surroundings()) {}

Transactions::Surroundings Loop::surroundings() {
  return {.load = [this] { return load(); },
          .save = [this](auto changes, auto keys) { return save(changes, keys); },
          .has_file =
              [this](const JobId& job, const std::string& sha256) {
                const auto found = artifacts_.find(job, sha256);
                return found && found->complete;
              },
          .send = [this](const Assignment& assignment) { effects_.send(assignment); },
          .refuse = [this](const Refusal& refusal) { effects_.refuse(refusal); },
          .announce = [this](auto changes) { announce_changes(changes); }};
}

Status Loop::prepare(TokenMaker tokens, LoopEffects effects) {
  tokens_ = std::move(tokens);
  effects_ = std::move(effects);
  TRY(transactions_.restore(tokens_, steady_now()));
  health_.beat(steady_now());
  return ok();
}

bool Loop::post(Work work) {
  if (inbox_.post(std::move(work))) return true;
  ++counters_.refused;
  return false;
}

void Loop::close() { inbox_.close(); }

void Loop::run() {
  Time next_tick = steady_now();
  while (true) {
    const Millis wait = std::max(next_tick - steady_now(), Millis{0});
    const std::vector<Work> arrived = inbox_.take_all(std::chrono::milliseconds(wait.count));
    if (arrived.empty() && inbox_.closed()) break;
    counters_.inbox_size = std::ssize(arrived);
    for (const Work& work : arrived) {
      health_.beat(steady_now());
      work(*this);
      if (transactions_.is_full()) commit();
    }
    if (const Time now = steady_now(); now >= next_tick) {
      health_.beat(now);
      tick(now);
      next_tick = now + tick_interval;
    }
    commit();
  }
  health_.end();
  if (const Status tidy = store_.tidy_up(); !tidy) {
    log_warning("database not tidied up", {{"error", tidy.error().message}});
  }
}

// --- steps

Loop::Stepped Loop::step(const Event& event) {
  Stepped stepped = transactions_.step(event, read_clocks());
  counters_.steps = transactions_.steps();
  return stepped;
}

void Loop::tick(Time now) {
  probe(now);
  if (core() == nullptr) {
    if (!health_.can_write()) return;
    if (const Status restored = transactions_.restore(tokens_, steady_now()); !restored) {
      health_.note_write(
          restored);  // not ready, and tried again after the next write that succeeds
      return log_error("the jobs cannot be loaded", {{"error", restored.error().message}});
    }
    log_info("database can be written again");
  }
  step(Tick{});
  if (ticks_++ % ticks_per_count == 0) {
    count_agents();
    remove_expired();
  }
}

// A few at a time: the rest comes a second later. One that another job is to resume from stays, and
// is in nobody's way.
void Loop::remove_expired() {
  if (!job_ttl_) return;
  const WallTime now = read_clocks().wall;
  const auto expired = store_.ended_jobs({.before = {now.unix_millis - job_ttl_->count},
                                          .after_sequence = expired_up_to_,
                                          .limit = expired_at_once});
  if (!expired) return log_warning("expired jobs kept", {{"error", expired.error().message}});
  for (const Store::EndedJob& job : *expired) {
    if (step(DeleteJob{job.id}).outcome) log_info("job_expired", {{"job", job.id.text}});
  }
  expired_up_to_ = std::ssize(*expired) < expired_at_once ? 0 : expired->back().sequence;
}

// Where nothing was saved for a while only a write tells whether one would succeed.
void Loop::probe(Time now) {
  if (now - written_at_ < (health_.can_write() ? probe_interval : retry_interval)) return;
  written_at_ = now;
  const bool could = health_.can_write();
  const Status written = store_.probe();
  health_.note_write(written);
  if (could && !written) {
    log_error("database cannot be written", {{"error", written.error().message}});
  }
}

void Loop::count_agents() {
  std::array<std::int64_t, Scheduler::Counters::agent_states> counts{};
  std::vector<ShownGpu> gpus;
  for (const AgentView& agent : core()->agents(read_clocks())) {
    ++counts.at(static_cast<std::size_t>(agent.record.state));
    for (const GpuReading& reading : agent.gpus) {
      const auto found = std::ranges::find(agent.record.host.gpus, reading.index, &GpuInfo::index);
      if (found == agent.record.host.gpus.end()) continue;
      gpus.push_back({agent.record.id.text, *found, reading});
    }
  }
  counters_.gpus.show(std::move(gpus));
  std::ranges::copy(counts, counters_.agents.begin());
}

Result<std::optional<IdempotencyKey>> Loop::find_key(const std::string& key) {
  if (auto unsaved = transactions_.find_key(key)) return unsaved;
  return store_.find_key(key);
}

// --- saving

void Loop::commit() {
  transactions_.commit(read_clocks());
  counters_.steps = transactions_.steps();
}

Status Loop::save(std::span<const Change> changes, std::span<const IdempotencyKey> keys) {
  const auto start = std::chrono::steady_clock::now();
  written_at_ = steady_now();
  const Status saved = store_.save(changes, keys);
  health_.note_write(saved);
  if (!saved) {
    ++counters_.failed_saves;
    log_error("save failed", {{"error", saved.error().message}});
    return saved;
  }
  count_save(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return ok();
}

void Loop::count_save(double seconds) {
  ++counters_.saves;
  counters_.save_micros += static_cast<std::int64_t>(seconds * 1e6);
  const auto bucket = std::ranges::lower_bound(Scheduler::Counters::save_buckets, seconds);
  if (bucket != Scheduler::Counters::save_buckets.end()) {
    ++counters_.saves_within.at(
        static_cast<std::size_t>(bucket - Scheduler::Counters::save_buckets.begin()));
  }
}

Result<Saved> Loop::load() {
  TRY_ASSIGN(Saved saved, store_.load());
  TRY_ASSIGN(last_sequence_, store_.last_sequence());
  return saved;
}

void Loop::announce_changes(std::span<const Change> changes) {
  std::set<JobId> changed;
  for (const Change& change : changes) {
    if (const JobId* job = std::visit(JobOf{}, change)) changed.insert(*job);
    if (const auto* event = std::get_if<AppendJobEvent>(&change)) log_event(*event);
    if (const auto* events = std::get_if<AppendRunEvents>(&change)) {
      counters_.run_events += std::ssize(events->events);
    }
    if (const auto* saved = std::get_if<SaveCheckpoint>(&change);
        saved && saved->checkpoint.state == CheckpointState::deleted) {
      effects_.files_unused(saved->checkpoint.job);
    }
    if (const auto* saved = std::get_if<SaveJob>(&change); saved && is_terminal(saved->job.state)) {
      effects_.files_unused(saved->job.id);
    }
    if (const auto* gone = std::get_if<RemoveJob>(&change)) effects_.removed(gone->job);
  }
  for (const JobId& job : changed) effects_.announce(job);
}

}  // namespace trainyard::scheduler

#include "tests/sim/process.h"

#include <algorithm>

namespace trainyard::sim {
namespace {

constexpr std::int64_t steps_per_moment = 10;

void leave(Process& process, ExitStatus exit) {
  process.is_alive = false;
  process.exit = exit;
}

void fail(Process& process, const char* reason, WallTime time) {
  process.write(time, FailureEvent{reason, "said by the task"});
  leave(process, {1, std::nullopt});
}

bool meets_its_fate(Process& process, const Now& now) {
  if (now.steady < process.fate_at) return false;
  switch (process.fate) {
    case Fate::works: return false;
    case Fate::exits: leave(process, {3, std::nullopt}); break;
    case Fate::is_killed: leave(process, {std::nullopt, 9}); break;
    case Fate::has_bad_data: fail(process, "BAD_DATA", now.wall); break;
    case Fate::hangs: break;
  }
  return true;
}

// Nobody else has the newest of what they hold.
bool has_lost_parameters(const Process& process, const Gang& gang) {
  const JobSpec& spec = process.wanted.task.spec;
  const auto holds = [&spec](const Process* each) {
    return holds_parameters(spec, each->key().role);
  };
  return std::ranges::count_if(gang.members, holds) < parameter_holders(spec);
}

bool is_chief_of(const Process& process) { return is_chief(process.wanted.task); }

ArtifactFile write_file(Process& process, const std::string& name) {
  const TaskKey& key = process.key();
  ArtifactFile file{name, 1000, key.job.text + "/" + std::to_string(key.attempt) + "/" + name};
  process.announced.push_back(file);
  process.files.push_back(file);
  return file;
}

void write_checkpoint(Process& chief, Gang& gang, WallTime time) {
  const std::string folder = "step-" + std::to_string(chief.step) + "/";
  const bool is_end = chief.step >= chief.wanted.task.spec.training.max_steps;
  const bool final_one = is_end || chief.must_save;
  ManifestEvent manifest{
      chief.step, {}, {}, {{"loss", 1.0 / static_cast<double>(chief.step)}}, final_one};
  for (Process* member : gang.members) {
    if (member->key().role != Role::ps) continue;
    const ArtifactFile shard = write_file(*member, folder + std::to_string(member->key().index));
    member->write(time, ShardEvent{chief.step, shard});
    manifest.shards.push_back(shard);
  }
  manifest.manifest = write_file(chief, folder + "manifest");
  chief.write(time, manifest);
}

void train(Process& chief, Gang& gang, WallTime time) {
  if (chief.has_saved) return;
  const JobSpec& spec = chief.wanted.task.spec;
  const std::int64_t max_steps = *spec.training.max_steps;
  for (const Process* member : gang.members) chief.step = std::max(chief.step, member->step);
  chief.step = std::min(chief.step + steps_per_moment, max_steps);
  chief.write(time, MetricEvent{chief.step, max_steps, {{"loss", 1.0}}});
  const bool due = chief.step % spec.checkpoint.every_steps == 0;
  if (due || chief.must_save || chief.step == max_steps) write_checkpoint(chief, gang, time);
  chief.has_saved = chief.must_save;
  if (chief.step < max_steps) return;
  gang.chief_is_done = true;
  leave(chief, {0, std::nullopt});
}

}  // namespace

void Process::write(WallTime time, decltype(RunEvent::what) what) {
  events.push_back({time, end(), std::move(what)});
}

std::size_t size_of_gang(const JobSpec& spec) {
  return static_cast<std::size_t>(spec.ps.replicas + training_replicas(spec));
}

Process make_process(const WantedTask& wanted, Random& random, const Now& now) {
  Process process;
  process.wanted = wanted;
  process.pid = random.between(100, 30'000);
  process.started_at = now.wall;
  const std::int64_t lot = random.between(1, 100);
  if (lot <= 4) process.fate = Fate::exits;
  if (lot == 5) process.fate = Fate::hangs;
  if (lot == 6) process.fate = Fate::has_bad_data;
  if (lot >= 97) process.fate = Fate::is_killed;
  process.fate_at = now.steady + random.millis(100, 8000);
  process.ignores_terminate = random.chance(15);
  process.step = wanted.restore ? wanted.restore->step : 0;
  return process;
}

Process make_successor(Process died, Random& random, const Now& now) {
  Process process = make_process(died.wanted, random, now);
  process.started_at = died.started_at;
  process.returns = died.returns + 1;
  process.events = std::move(died.events);
  process.events_read = died.events_read;
  process.announced = std::move(died.announced);
  process.files = std::move(died.files);
  return process;
}

Work live(Process& process, Gang& gang, Random& random, const Now& now) {
  if (meets_its_fate(process, now)) return Work::goes_on;
  if (gang.chief_is_done) {
    leave(process, {0, std::nullopt});
    return Work::goes_on;
  }
  if (!process.serves && random.chance(60)) {
    process.write(now.wall, PhaseEvent{PhaseEvent::Phase::running, ""});
    process.serves = true;
  }
  const bool all_here = gang.members.size() == size_of_gang(process.wanted.task.spec);
  if (all_here) process.missing_since.reset();
  if (!all_here && !process.missing_since) process.missing_since = now.steady;
  const bool waited_long = !all_here && now.steady - *process.missing_since > seconds(15);
  if (waited_long || (process.has_met_all && has_lost_parameters(process, gang))) {
    if (random.chance(40)) fail(process, "PEER_LOST", now.wall);
    return Work::goes_on;
  }
  process.has_met_all = process.has_met_all || all_here;
  const bool all_serve = std::ranges::all_of(gang.members, [](Process* p) { return p->serves; });
  if (!is_chief_of(process) || !all_here || !all_serve) return Work::goes_on;
  if (!process.has_told) {
    process.write(now.wall,
                  PartitionEvent{.partition = {.policy = Partitioning::chunks,
                                               .shares = {{.task = "ps/0", .bytes = 1000}},
                                               .tables = {}}});
    process.has_told = true;
  }
  train(process, gang, now.wall);
  return gang.chief_is_done ? Work::is_done : Work::goes_on;
}

}  // namespace trainyard::sim

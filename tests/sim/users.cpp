#include "tests/sim/users.h"

#include <iterator>

#include "tests/sim/world.h"

namespace trainyard::sim {

using namespace scheduler;

namespace {

// Of the jobs: they train for longer than a lease and what follows its end.
constexpr int long_percent = 30;

}  // namespace

void Users::begin() {
  world_.clock().after(world_.random().millis(200, 5000), [this] { next(); });
}

void Users::next() {
  if (stopped_) return;
  const auto lot = world_.random().between(1, 100);
  if (lot <= 45 && submitted_ < 12) {
    submit();
  } else if (lot <= 90) {
    act_on_a_job();
  } else {
    cordon();
  }
  begin();
}

JobSpec Users::make_spec() {
  Random& random = world_.random();
  JobSpec spec;
  spec.ps = {random.between(0, 2), {1, 1000, 0}, PlacementPolicy::spread};
  spec.worker = {random.between(1, 2), {1, 2000, random.chance(20) ? 1 : 0}, PlacementPolicy::pack};
  if (random.chance(20)) {
    spec.worker.replicas = random.between(2, 4);
    spec.worker.min_replicas = 1;
  }
  if (random.chance(25)) spec.chief = RoleSpec{1, {1, 500, 0}, PlacementPolicy::pack};
  if (spec.ps.replicas == 0) spec.training.strategy = Strategy::local;
  if (spec.ps.replicas > 0 && random.chance(30)) spec.mode = Mode::async;
  spec.training.max_steps = random.between(3, 40) * 10;
  if (random.chance(long_percent)) spec.training.max_steps = random.between(40, 150) * 10;
  spec.scheduling.priority = random.between(1, 3) * 25;
  if (random.chance(10)) spec.scheduling.max_queued_seconds = random.between(5, 60);
  if (random.chance(20)) spec.run_policy.max_run_seconds = random.between(5, 60);
  spec.run_policy.no_progress_timeout_seconds = 25;
  spec.run_policy.grace_period_seconds = random.between(0, 3);
  spec.run_policy.save_seconds = random.between(0, 3) * 4;
  spec.run_policy.backoff = {random.between(0, 1), 2.0, 4};
  spec.checkpoint.every_steps = 50;
  spec.checkpoint.keep_latest = random.between(1, 3);
  return spec;
}

void Users::submit() {
  Job job;
  job.id = JobId{"j" + std::to_string(++submitted_)};
  job.sequence = submitted_;
  static_cast<void>(world_.random().next());  // the histories that are known go on as they were
  job.spec = make_spec();
  job.created_at = world_.clock().wall();
  world_.journal().say("submit " + job.id.text);
  world_.server().take(Submit{job}, [this, id = job.id](const Outcome& outcome) {
    if (!outcome || world_.database().jobs().contains(id)) return;
    world_.journal().fault("job " + id.text + " was acknowledged and is not saved");
  });
}

void Users::act_on_a_job() {
  const auto& jobs = world_.database().jobs();
  if (jobs.empty()) return;
  Random& random = world_.random();
  const auto which = random.between(0, static_cast<std::int64_t>(jobs.size()) - 1);
  const JobId id = std::next(jobs.begin(), which)->first;
  const auto lot = random.between(1, 100);
  if (lot <= 20) {
    act(id, JobAction::cancel);
  } else if (lot <= 50) {
    act(id, JobAction::suspend);
    change_mind(id);
  } else if (lot <= 85) {
    act(id, JobAction::resume);
  } else {
    world_.server().take(DeleteJob{id});
  }
}

void Users::act(const JobId& id, JobAction action) {
  if (stopped_ && action != JobAction::resume) return;
  const char* const names[] = {"cancel ", "suspend ", "resume "};
  world_.journal().say(names[static_cast<std::size_t>(action)] + id.text);
  asked_.insert({id, action});  // also where the server died over it: it may have been saved
  world_.server().take(ActOnJob{id, action});
}

// Soon after, while the gang saves or stops; at times the server dies in between.
void Users::change_mind(const JobId& id) {
  Random& random = world_.random();
  const auto lot = random.between(1, 100);
  const Millis soon = random.millis(0, 3000);
  if (lot <= 30) {
    world_.clock().after(soon, [this, id] { act(id, JobAction::resume); });
  } else if (lot <= 45) {
    world_.clock().after(soon, [this, id] { act(id, JobAction::suspend); });
  } else if (lot <= 55) {
    world_.clock().after(soon, [this, id] { act(id, JobAction::cancel); });
  }
  if (!random.chance(20)) return;
  world_.server().crash(Server::Crash::after_next_save);
  world_.clock().after(random.millis(100, 5000), [this] {
    if (!world_.server().is_up()) world_.server().start();
  });
}

void Users::cordon() {
  const auto& hosts = world_.hosts();
  const auto which = world_.random().between(0, static_cast<std::int64_t>(hosts.size()) - 1);
  const AgentId& id = hosts[static_cast<std::size_t>(which)]->id();
  const auto lot = world_.random().between(1, 100);
  if (lot <= 30) {
    world_.journal().say("drain " + id.text);
    drained_.insert(id);  // also where the server died over it
    world_.server().take(DrainAgent{id});
  } else {
    world_.server().take(SetCordon{id, lot <= 65});
  }
}

void Users::let_run_out() {
  for (const auto& host : world_.hosts()) world_.server().take(SetCordon{host->id(), false});
  std::vector<JobId> asleep;
  for (const auto& [id, job] : world_.database().jobs()) {
    const bool heading = job.state == JobState::stopping && job.goal == JobState::suspended;
    if (job.state == JobState::suspended || heading) asleep.push_back(id);
  }
  for (const JobId& id : asleep) act(id, JobAction::resume);
  world_.clock().after(seconds(5), [this] { let_run_out(); });  // the server may have been down
}

void Users::stop() {
  stopped_ = true;
  let_run_out();
}

}  // namespace trainyard::sim

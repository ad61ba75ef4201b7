#include "tests/sim/server.h"

#include <utility>

namespace trainyard::sim {

using namespace scheduler;

namespace {

constexpr Millis tick_interval{200};

std::string to_line(const AgentView& view) {
  std::string line = view.record.id.text + " " + std::string(name_of(view.record.state)) + " gen " +
                     std::to_string(view.record.generation) + " epoch " +
                     std::to_string(view.record.epoch) + " cpus " + std::to_string(view.used.cpus);
  for (const auto& [key, slots] : view.tasks) {
    line += " " + to_string(key);
    for (const int slot : slots) line += ":" + std::to_string(slot);
  }
  return line;
}

}  // namespace

Now Server::now() const { return {world_.clock.now() + clock_offset_, world_.clock.wall()}; }

void Server::start() {
  clock_offset_ = world_.random.millis(0, 1'000'000);
  crash_next_ = Crash::never;
  answered_.clear();
  Saved saved = world_.database.load();
  const std::vector<Checkpoint> checkpoints = saved.checkpoints;
  cluster_ = std::make_unique<Cluster>(Cluster::restore(std::move(saved), limits_, now().steady));
  world_.journal.say("server up");
  for (const Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.state == CheckpointState::pending) post_known_files(checkpoint);
  }
  tick(++incarnation_);
}

void Server::crash(Crash when) {
  if (!is_up()) return;
  if (when != Crash::at_once) {
    crash_next_ = when;
    return;
  }
  world_.journal.say("server down");
  cluster_.reset();
  ++incarnation_;
}

void Server::tick(int incarnation) {
  if (incarnation != incarnation_) return;
  take(scheduler::Tick{});
  world_.clock.after(tick_interval, [this, incarnation] { tick(incarnation); });
}

bool Server::take(const Event& event) {
  if (!is_up()) return false;
  const Step step = cluster_->step(event, now());
  for (const std::string& belief : cluster_->broken_beliefs()) world_.journal.fault(belief);
  const bool empty = step.save.empty();
  if (!empty && crash_next_ == Crash::before_next_save) return crash(Crash::at_once), false;
  world_.database.save(step.save);
  for (const Change& change : step.save) {
    if (const auto* saved = std::get_if<SaveJob>(&change)) world_.on_job_saved(saved->job);
  }
  if (!empty && crash_next_ == Crash::after_next_save) return crash(Crash::at_once), false;
  for (const Assignment& assignment : step.send) {
    check_answer(assignment);
    world_.send(assignment);
  }
  for (const Change& change : step.save) {
    const auto* saved = std::get_if<SaveCheckpoint>(&change);
    if (saved == nullptr || saved->checkpoint.state != CheckpointState::pending) continue;
    post_known_files(saved->checkpoint);
  }
  return step.outcome.has_value();
}

bool Server::take_file(const JobId& job, const std::string& sha256) {
  if (!is_up()) return false;
  world_.database.store_file(sha256);
  return take(ArtifactStored{job, sha256});
}

// Who answers an older report after a newer has let it overtake what is newer.
void Server::check_answer(const Assignment& assignment) {
  std::int64_t& newest = answered_[{assignment.agent, assignment.instance, assignment.epoch}];
  if (assignment.answers < newest) {
    world_.journal.fault("an older report of " + assignment.agent.text + " overtook a newer");
  }
  newest = assignment.answers;
}

void Server::post_known_files(const Checkpoint& pending) {
  const auto post = [&](const ArtifactFile& file) {
    if (world_.database.has_file(file.sha256)) take(ArtifactStored{pending.job, file.sha256});
  };
  post(pending.manifest);
  for (const ArtifactFile& shard : pending.shards) post(shard);
}

void Server::compare_with_rows() {
  if (!is_up()) return;
  const Cluster restored = Cluster::restore(world_.database.load(), limits_, now().steady);
  const auto here = cluster_->agents(now());
  const auto there = restored.agents(now());
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (i < there.size() && to_line(here[i]) == to_line(there[i])) continue;
    world_.journal.fault("not what is saved: " + to_line(here[i]));
  }
  for (const auto& [id, row] : world_.database.jobs()) {
    const auto shown = cluster_->explain(id, now());
    if (shown && shown->state != row.state)
      world_.journal.fault("job " + id.text + " is not as saved");
    if (!shown && !is_terminal(row.state)) world_.journal.fault("job " + id.text + " is forgotten");
  }
}

}  // namespace trainyard::sim

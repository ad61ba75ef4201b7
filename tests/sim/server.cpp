#include "tests/sim/server.h"

#include <utility>

#include "tests/scheduler/core/plain_tokens.h"

namespace trainyard::sim {

using namespace scheduler;

namespace {

constexpr Millis tick_interval{200};
constexpr int alone_percent = 60;  // of the events: each is a transaction
constexpr std::int64_t batch_lasts_max = 40;

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

std::vector<Job> jobs_in(Transactions::Changes changes) {
  std::vector<Job> jobs;
  for (const Change& change : changes) {
    if (const auto* row = std::get_if<SaveJob>(&change)) jobs.push_back(row->job);
  }
  return jobs;
}

}  // namespace

Now Server::now() const { return {world_.clock.now() + clock_offset_, world_.clock.wall()}; }

const Cluster* Server::core() const { return is_up() ? transactions_->core() : nullptr; }

void Server::start() {
  clock_offset_ = world_.random.millis(0, 1'000'000);
  crash_next_ = Crash::never;
  is_dying_ = false;
  transactions_ = std::make_unique<Transactions>(limits_, surroundings());
  restore();
  world_.journal.say("server up");
  tick(++incarnation_);
}

void Server::crash(Crash when) {
  if (!is_up()) return;
  if (when != Crash::at_once) {
    crash_next_ = when;
    return;
  }
  world_.journal.say("server down");
  transactions_.reset();
  ++incarnation_;
}

void Server::tick(int incarnation) {
  if (incarnation != incarnation_) return;
  const bool has_core = core() != nullptr || (world_.database.probe() && restore());
  if (has_core) step(scheduler::Tick{}, {});
  commit();
  world_.clock.after(tick_interval, [this, incarnation] { tick(incarnation); });
}

bool Server::restore() {
  answered_.clear();
  const Status restored = transactions_->restore(plain_tokens(), now().steady);
  if (!restored) world_.journal.fault("the rows cannot be loaded: " + restored.error().message);
  return restored.has_value();
}

void Server::take(const Event& event, Done done) {
  if (!is_up()) return;
  step(event, std::move(done));
  if (world_.random.chance(alone_percent)) return commit();
  world_.clock.after(world_.random.millis(0, batch_lasts_max), [this, incarnation = incarnation_] {
    if (incarnation == incarnation_) commit();
  });
}

// The file is durable before the core hears of it; whoever brought it need not wait for the rows.
bool Server::take_file(const JobId& job, const std::string& sha256) {
  if (!is_up()) return false;
  world_.database.store_file(sha256);
  take(ArtifactStored{job, sha256});
  return is_up();
}

void Server::step(const Event& event, Done done) {
  const auto [outcome, changes] = transactions_->step(event, now());
  if (core() != nullptr) {
    for (const std::string& belief : core()->broken_beliefs()) world_.journal.fault(belief);
  }
  transactions_->when_saved([this, result = outcome, jobs = jobs_in(changes),
                             done = std::move(done)](const Status& saved) {
    if (is_dying_) return;
    if (saved) check_saved("an answer");
    if (saved) check_rows(jobs);
    if (done) done(saved ? result : saved);
  });
}

void Server::commit() {
  save_failed_ = false;
  transactions_->commit(now());
  if (is_dying_) crash(Crash::at_once);
}

// --- around the transactions ---------------------------------------------------------------------

Transactions::Surroundings Server::surroundings() {
  return {.load = [this] { return Result<Saved>(world_.database.load()); },
          .save = [this](Changes changes, auto) { return save(changes); },
          .has_file = [this](const JobId&,
                             const std::string& sha) { return world_.database.has_file(sha); },
          .send = [this](const Assignment& assignment) { send(assignment); },
          .refuse = [this](const Refusal&) { check_saved("a refusal"); },
          .announce =
              [this](Changes changes) {
                if (is_dying_) return;
                check_saved("news");
                check_rows(jobs_in(changes));
              }};
}

Status Server::save(Changes changes) {
  const Error down = unavailable("the server is down");
  if (is_dying_ || crash_next_ == Crash::before_next_save) {
    is_dying_ = true;
    return down;
  }
  if (const Status saved = world_.database.save(changes); !saved) {
    save_failed_ = true;
    return saved;
  }
  for (const Job& job : jobs_in(changes)) world_.on_job_saved(job);
  is_dying_ = crash_next_ == Crash::after_next_save;
  return ok();
}

void Server::send(const Assignment& assignment) {
  if (is_dying_) return;
  // Without that fence it is its consequences that are to be noticed.
  if (limits_.fences.saved_first == Fence::kept) check_saved("an assignment");
  check_answer(assignment);
  world_.send(assignment);
}

// Nothing leaves that is not saved.
void Server::check_saved(const std::string& what) {
  if (save_failed_ && !is_dying_) world_.journal.fault(what + " left, and its save had failed");
}

// Whoever hears of a job finds it in the rows as it was then, or newer.
void Server::check_rows(const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    const auto row = world_.database.jobs().find(job.id);
    if (row == world_.database.jobs().end() || row->second.version >= job.version) continue;
    world_.journal.fault("job " + job.id.text + " was spoken of before it was saved");
  }
}

// Who answers an older report after a newer has let it overtake what is newer.
void Server::check_answer(const Assignment& assignment) {
  std::int64_t& newest = answered_[{assignment.agent, assignment.instance, assignment.epoch}];
  if (assignment.answers < newest) {
    world_.journal.fault("an older report of " + assignment.agent.text + " overtook a newer");
  }
  newest = assignment.answers;
}

void Server::compare_with_rows() {
  if (is_up()) commit();  // until then the core knows more
  if (core() == nullptr) return;
  const Cluster restored =
      Cluster::restore(world_.database.load(), limits_, plain_tokens(), now().steady);
  const auto here = core()->agents(now());
  const auto there = restored.agents(now());
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (i < there.size() && to_line(here[i]) == to_line(there[i])) continue;
    world_.journal.fault("not what is saved: " + to_line(here[i]));
  }
  for (const auto& [id, row] : world_.database.jobs()) {
    const auto shown = core()->explain(id, now());
    if (shown && shown->state != row.state)
      world_.journal.fault("job " + id.text + " is not as saved");
    if (!shown && !is_terminal(row.state)) world_.journal.fault("job " + id.text + " is forgotten");
  }
}

void Server::check_at_rest() {
  if (core() == nullptr) return world_.journal.fault("the server is down at the end");
  for (const AgentView& agent : core()->agents(now())) {
    if (agent.used == Resources{} && agent.tasks.empty()) continue;
    world_.journal.fault("holds slots for nobody: " + to_line(agent));
  }
  for (const std::string& belief : core()->broken_beliefs()) world_.journal.fault(belief);
}

}  // namespace trainyard::sim

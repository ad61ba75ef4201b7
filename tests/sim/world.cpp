#include "tests/sim/world.h"

#include <algorithm>

#include "tests/sim/faults.h"
#include "tests/sim/users.h"

namespace trainyard::sim {

using enum Network::Way;

namespace {

constexpr Millis trouble_lasts{60'000};
constexpr Millis calm_lasts_max{1'200'000};
constexpr int twins_percent = 30;

// A tenth of the real ones, in the same proportions: the kill takes 1.5 s at most, a tick 0.2 s.
scheduler::Limits limits(const scheduler::Fences& fences) {
  return {.stop_after = Millis{6000},
          .lost_after = Millis{9000},
          .silent_after = Millis{2500},
          .fences = fences};
}

}  // namespace

World::World(const WorldOptions& options)
    : random_(options.seed),
      journal_(clock_, options.echo),
      network_(clock_, random_),
      database_(journal_),
      server_(server_world(), limits(options.server_fences)) {
  const std::int64_t count = random_.between(2, 4);
  for (int number = 0; number < count; ++number) add_host(number, "first", options);
  // Somebody starts another agent and gives it a name that is taken.
  if (random_.chance(twins_percent)) add_host(0, "twin", options);
}

Server::World World::server_world() {
  return {clock_,
          random_,
          journal_,
          database_,
          [this](const Assignment& assignment) { send_assignment(assignment); },
          [this](const Job& job) { check_saved_job(job); }};
}

Host::World World::host_world(const AgentId& id) {
  return {clock_,
          random_,
          journal_,
          [this](const AgentReport& report) { send_report(report); },
          [this](const AgentId& from, const JobId& job, const std::string& sha) {
            send_file(from, job, sha);
          },
          [this, id] {
            return !server_.is_up() && !network_.is_cut({id, to_agent});
          },
          [this](Host& host, const Process& process) { check_start(host, process); },
          [this](const Process& process) {
            found_.insert({process.key().job, process.key().attempt});
          },
          [this](Host& host) {
            if (faults_ != nullptr) faults_->process_ended(host);
          },
          [this](Process& process, const Now& now) { live(process, now); }};
}

void World::add_host(int number, const std::string& instance, const WorldOptions& options) {
  const AgentId id{"host-" + std::to_string(number)};
  HostInfo info;
  info.address = "10.0.0." + std::to_string(number);
  info.capacity = {random_.between(3, 6), 16'000, random_.between(0, 2)};
  // A twin that had less would leave jobs waiting for ever that were accepted for the first.
  for (const auto& host : hosts_) {
    if (host->id() == id) info = host->info();
  }
  info.first_port = 20'000;
  info.last_port = 20'011;
  hosts_.push_back(std::make_unique<Host>(
      host_world(id), info, agent::AgentOptions{id, instance, 0, {}, options.agent_fences},
      options.shell_fences));
}

// To everybody of that name: whom it is for, the agents themselves must tell.
void World::deliver(const AgentId& id, const std::function<void(Host&)>& what) {
  for (const auto& each : hosts_) {
    if (each->id() == id) what(*each);
  }
}

void World::send_report(const AgentReport& report) {
  network_.send({report.agent, to_server}, [this, report] { server_.take(report); });
}

void World::send_assignment(const Assignment& assignment) {
  network_.send({assignment.agent, to_agent}, [this, assignment] {
    deliver(assignment.agent, [&](Host& host) { host.take(assignment); });
  });
}

void World::send_file(const AgentId& from, const JobId& job, const std::string& sha256) {
  network_.send({from, to_server}, [this, from, job, sha256] {
    if (!server_.take_file(job, sha256)) return;
    network_.send({from, to_agent}, [this, from, sha256] {
      deliver(from, [&](Host& host) { host.take_file_stored(sha256); });
    });
  });
}

void World::live(Process& process, const Now& now) {
  const TaskKey& key = process.key();
  bool& chief_is_done = chief_is_done_[{key.job, key.attempt}];
  Gang gang{{}, chief_is_done};
  for (const auto& each : hosts_) {
    for (auto& [other, peer] : each->processes()) {
      const bool is_peer = other.job == key.job && other.attempt == key.attempt;
      if (is_peer && peer.is_alive) gang.members.push_back(&peer);
    }
  }
  if (trainyard::sim::live(process, gang, random_, now) == Work::is_done) chief_is_done = true;
}

bool World::all_ended() const {
  return std::ranges::all_of(database_.jobs(),
                             [](const auto& entry) { return is_terminal(entry.second.state); });
}

std::int64_t World::count_survived() const {
  return std::ranges::count_if(found_, [this](const auto& attempt) {
    const auto job = database_.jobs().find(attempt.first);
    return job != database_.jobs().end() && job->second.state == JobState::succeeded &&
           job->second.attempt == attempt.second;
  });
}

WorldOutcome World::run() {
  Faults faults(*this);
  Users users(*this);
  faults_ = &faults;
  users_ = &users;
  server_.start();
  for (const auto& each : hosts_) each->start();
  faults.begin();
  users.begin();
  const Time trouble_ends = clock_.now() + trouble_lasts;
  while (clock_.now() < trouble_ends) clock_.advance();

  journal_.say("calm");
  faults.stop();
  users.stop();
  network_.calm_down();
  const Time deadline = clock_.now() + calm_lasts_max;
  while (!all_ended() && clock_.now() < deadline) clock_.advance();
  for (const auto& [id, job] : database_.jobs()) {
    if (is_terminal(job.state)) continue;
    journal_.fault("job " + id.text + " never ended: " + std::string(name_of(job.state)) + " " +
                   job.message);
  }
  check_at_rest();
  return {journal_.faults(), journal_.hash(), clock_.now() - Time{},
          static_cast<std::int64_t>(chief_is_done_.size()), count_survived()};
}

}  // namespace trainyard::sim

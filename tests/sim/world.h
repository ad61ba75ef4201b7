// One simulated cluster: the real cores of server and agents on a virtual clock, over a bad
// network, with processes that fail, users that change their minds, and hosts and servers that
// crash. All of it follows from the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/host.h"
#include "tests/sim/network.h"
#include "tests/sim/server.h"

namespace trainyard::sim {

struct WorldOptions {
  std::uint64_t seed = 1;
  scheduler::Fences server_fences;
  agent::Fences agent_fences;
  Journal::Echo echo = Journal::Echo::off;
  ShellFences shell_fences = {};
};

struct WorldOutcome {
  std::vector<std::string> faults;
  std::uint64_t hash = 0;
  Millis lasted;
  std::int64_t attempts = 0;
  std::int64_t survived = 0;  // attempts that a new start of an agent found, and that succeeded
};

class Faults;
class Users;

class World {
 public:
  explicit World(const WorldOptions& options);

  // Trouble for a while, then calm until every job has ended, which it must in time.
  WorldOutcome run();

  Clock& clock() { return clock_; }
  Random& random() { return random_; }
  Journal& journal() { return journal_; }
  Network& network() { return network_; }
  Server& server() { return server_; }
  Database& database() { return database_; }
  [[nodiscard]] const Database& database() const { return database_; }
  std::vector<std::unique_ptr<Host>>& hosts() { return hosts_; }

 private:
  Server::World server_world();
  Host::World host_world(const AgentId& id);
  void add_host(int number, const std::string& instance, const WorldOptions& options);
  void deliver(const AgentId& id, const std::function<void(Host&)>& what);
  void send_report(const AgentReport& report);
  void send_assignment(const Assignment& assignment);
  void send_file(const AgentId& from, const JobId& job, const std::string& sha256);
  void live(Process& process, const Now& now);

  void check_start(Host& host, const Process& process);
  void check_capacity(Host& host, const Process& process);
  void check_restore(const Process& process);
  void check_saved_job(const Job& job);
  void check_ending(const Job& job);
  [[nodiscard]] bool is_of_drained_agent(const std::string& message) const;
  void check_limits(const Job& job);
  void check_at_rest();
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] std::int64_t count_survived() const;

  Random random_;
  Clock clock_;
  Journal journal_;
  Network network_;
  Database database_;
  Server server_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::set<TaskKey> started_;
  std::set<std::pair<JobId, std::int64_t>> found_;  // attempts of living tasks, by new starts
  Faults* faults_ = nullptr;
  const Users* users_ = nullptr;
  std::map<std::pair<JobId, std::int64_t>, bool> chief_is_done_;  // by job and attempt
};

}  // namespace trainyard::sim

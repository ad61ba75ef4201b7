// A whole Trainyard for one test: a server, agents, jobs; all on loopback, unless told otherwise,
// with ports from the OS.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/programs.h"
#include "tests/e2e/rest.h"
#include "tests/support/temp_folder.h"

namespace trainyard::e2e {

class Yard {
 public:
  explicit Yard(std::vector<std::string> server_flags = {},
                std::string agent_address = "127.0.0.1:0");
  ~Yard();  // with the agents end their tasks, which outlive an agent otherwise
  Yard(const Yard&) = delete;
  Yard& operator=(const Yard&) = delete;

  [[nodiscard]] std::string url(const std::string& path) const { return base_url_ + path; }
  [[nodiscard]] const std::string& agent_address() const { return agent_address_; }
  Program& server() { return *server_; }
  [[nodiscard]] const TempFolder& folder() const { return folder_; }

  // SIGKILL and, later, a start on the same folder and the same ports.
  void kill_server();
  void start_server();

  // An agent whose work folder is named after it, so that a second start continues it, with its
  // ports.
  void start_agent(const std::string& name, std::vector<std::string> flags = {"--cpus", "8"});
  void kill_agent(const std::string& name);  // alone: its tasks go on
  // Those that are started from now on; a path.
  void set_agent_program(std::string program) { agent_program_ = std::move(program); }
  // First and last of those that its tasks may listen on.
  [[nodiscard]] std::pair<int, int> ports_of(const std::string& agent) const {
    return ports_.at(agent);
  }
  [[nodiscard]] bool has_agent(const std::string& name) const { return agents_.contains(name); }
  Program& agent(const std::string& name) { return *agents_.at(name); }
  // Until the server lists that many agents as ready.
  void wait_for_agents(std::size_t count);

  // 201 is required; the job's id.
  std::string submit(const nlohmann::json& spec);
  nlohmann::json job(const std::string& id);
  std::vector<nlohmann::json> tasks(const std::string& id);
  // Long-polls until `holds` of the job object; the job. Fails the test at the deadline or when the
  // job is terminal and it does not hold.
  nlohmann::json wait_for(const std::string& id,
                          const std::function<bool(const nlohmann::json&)>& holds,
                          int seconds = 120);
  nlohmann::json wait_for_state(const std::string& id, const std::string& state, int seconds = 120);
  nlohmann::json wait_for_step(const std::string& id, std::int64_t step, int seconds = 120);
  // pid of the task's running process; waits for one.
  pid_t pid_of(const std::string& id, const std::string& role, int index);
  // sha256 of the downloaded newest checkpoint.
  std::string model_sha256(const std::string& id);
  std::string model_file(const std::string& id, const std::string& query = "");

 private:
  TempFolder folder_;
  std::vector<std::string> server_flags_;
  std::string http_address_ = "127.0.0.1:0";
  std::string agent_address_;
  std::string base_url_;
  std::unique_ptr<Program> server_;
  std::map<std::string, std::unique_ptr<Program>> agents_;
  std::string agent_program_ = "trainyard-agent";
  std::map<std::string, std::pair<int, int>> ports_;
  int next_port_ = 0;
};

// 1 ps, 2 workers, an mlp of synthetic_digits: quick, and long enough to be killed in the middle.
nlohmann::json small_job(int max_steps);

}  // namespace trainyard::e2e

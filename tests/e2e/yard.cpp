#include "tests/e2e/yard.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "schemas/files/sha256.h"
#include "tests/agent/end_tasks.h"
#include "tests/support/loopback.h"

namespace trainyard::e2e {
namespace {

bool is_terminal(const std::string& state) {
  return state == "succeeded" || state == "failed" || state == "cancelled";
}

// The first of a run of ports that nobody listens on, below the range that the OS hands out by
// itself.
int free_port_range(int count, int start) {
  for (int first = start; first + count < 32000; first += count) {
    bool free = true;
    for (int port = first; port < first + count && free; ++port) {
      free = static_cast<bool>(bind_to_loopback(port));
    }
    if (free) return first;
  }
  FAIL("no free ports");
  return 0;
}

}  // namespace

Yard::Yard(std::vector<std::string> server_flags, std::string agent_address)
    : server_flags_(std::move(server_flags)),
      agent_address_(std::move(agent_address)),
      next_port_(21000 + (::getpid() % 400) * 20) {
  start_server();
}

Yard::~Yard() {
  for (auto& [name, agent] : agents_) {
    agent.reset();
    agent::end_tasks_of(folder_.path("agent-" + name));
  }
}

void Yard::start_server() {
  std::vector<std::string> flags{"--state-dir", folder_.path("state"), "--http-address",
                                 http_address_, "--agent-address",     agent_address_};
  flags.insert(flags.end(), server_flags_.begin(), server_flags_.end());
  server_ = std::make_unique<Program>("trainyard-server", flags);
  const std::string line = server_->wait_for_line(
      [](const std::string& text) { return text.find("\"listening\"") != std::string::npos; },
      in_seconds(30));
  INFO(server_->output());
  REQUIRE(!line.empty());
  const auto fields = nlohmann::json::parse(line);
  http_address_ = fields.at("http_address").get<std::string>();
  agent_address_ = fields.at("agent_address").get<std::string>();
  base_url_ = "http://" + http_address_;
}

void Yard::kill_server() {
  server_->signal(SIGKILL);
  REQUIRE(server_->wait(in_seconds(10)));
}

void Yard::start_agent(const std::string& name, std::vector<std::string> flags) {
  constexpr int ports = 20;
  if (!ports_.contains(name)) {
    const int free = free_port_range(ports, next_port_);
    next_port_ = free + ports;
    ports_[name] = {free, free + ports - 1};
  }
  const auto [first, last] = ports_.at(name);
  std::vector<std::string> all{"--server",   agent_address_,
                               "--name",     name,
                               "--work-dir", folder_.path("agent-" + name),
                               "--ports",    std::to_string(first) + "-" + std::to_string(last)};
  all.insert(all.end(), flags.begin(), flags.end());
  agents_[name] = std::make_unique<Program>(agent_program_, all);
}

void Yard::kill_agent(const std::string& name) {
  agents_.at(name)->signal(SIGKILL);
  REQUIRE(agents_.at(name)->wait(in_seconds(10)));
}

void Yard::wait_for_agents(std::size_t count) {
  std::size_t ready = 0;
  const auto are_ready = [&] {
    const nlohmann::json agents = get(url("/v1/agents")).json().at("items");
    ready = static_cast<std::size_t>(std::ranges::count_if(
        agents, [](const nlohmann::json& agent) { return agent.at("state") == "ready"; }));
    return ready >= count;
  };
  const bool came = eventually(are_ready, in_seconds(30), rare_looks);
  INFO("agents ready: " << ready);
  REQUIRE(came);
}

std::string Yard::submit(const nlohmann::json& spec) {
  const Answer answer = post(url("/v1/jobs"), spec.dump());
  INFO(answer.body);
  REQUIRE(answer.status == 201);
  return answer.json().at("id").get<std::string>();
}

nlohmann::json Yard::job(const std::string& id) {
  const Answer answer = get(url("/v1/jobs/" + id));
  INFO(answer.body);
  REQUIRE(answer.status == 200);
  return answer.json();
}

std::vector<nlohmann::json> Yard::tasks(const std::string& id) {
  const Answer answer = get(url("/v1/jobs/" + id + "/tasks"));
  REQUIRE(answer.status == 200);
  return answer.json().at("items").get<std::vector<nlohmann::json>>();
}

nlohmann::json Yard::wait_for(const std::string& id,
                              const std::function<bool(const nlohmann::json&)>& holds,
                              int seconds) {
  const Deadline deadline = in_seconds(seconds);
  std::int64_t version = 0;
  nlohmann::json last;
  while (!is_past(deadline)) {
    const Answer answer = get(
        url("/v1/jobs/" + id + "?wait_version=" + std::to_string(version) + "&timeout_seconds=5"));
    if (answer.status != 200) continue;  // a server that is just coming back
    last = answer.json();
    if (holds(last)) return last;
    if (is_terminal(last.at("status").at("state").get<std::string>())) break;
    version = last.at("version").get<std::int64_t>();
  }
  INFO("job: " << last.dump(2));
  INFO("server: " << server_->output());
  for (const auto& [name, program] : agents_)
    UNSCOPED_INFO("agent " << name << ": " << program->output());
  FAIL("the job did not get there");
  return last;
}

nlohmann::json Yard::wait_for_state(const std::string& id, const std::string& state, int seconds) {
  return wait_for(
      id, [&](const nlohmann::json& job) { return job.at("status").at("state") == state; },
      seconds);
}

nlohmann::json Yard::wait_for_step(const std::string& id, std::int64_t step, int seconds) {
  return wait_for(
      id,
      [&](const nlohmann::json& job) {
        return job.at("status").at("state") == "running" && job.at("status").at("step") >= step;
      },
      seconds);
}

pid_t Yard::pid_of(const std::string& id, const std::string& role, int index) {
  pid_t pid = -1;
  const auto runs = [&] {
    for (const auto& task : tasks(id)) {
      if (task.at("role") == role && task.at("index") == index && task.at("state") == "running") {
        pid = task.at("pid").get<pid_t>();
      }
    }
    return pid > 0;
  };
  // One that is started again has none for a moment.
  INFO("no running " << role << "/" << index);
  REQUIRE(eventually(runs, in_seconds(30), rare_looks));
  return pid;
}

std::string Yard::model_file(const std::string& id, const std::string& query) {
  const Answer answer = get(url("/v1/jobs/" + id + "/checkpoints/latest/download" + query));
  REQUIRE(answer.status == 200);
  return answer.body;
}

std::string Yard::model_sha256(const std::string& id) { return sha256_hex(model_file(id)); }

nlohmann::json small_job(int max_steps) {
  return nlohmann::json::parse(R"({
    "model": {"name": "mlp", "hidden": [100]},
    "dataset": {"name": "synthetic_digits", "train_examples": 2000, "test_examples": 500},
    "roles": {"ps": 1, "worker": 2}, "mode": "sync",
    "training": {"batch_size": 50, "report_every_steps": 10, "evaluate_every_steps": 500,
                 "max_steps": )" +
                               std::to_string(max_steps) + R"(},
    "checkpoint": {"every_steps": 200},
    "run_policy": {"grace_period_seconds": 5, "backoff": {"initial_seconds": 0}}
  })");
}

}  // namespace trainyard::e2e

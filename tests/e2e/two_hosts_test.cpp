// Two hosts that a link of 1 Gbit/s joins: a gang over both, while the link is cut and mended. What
// is checked is what users see: how the job ends, in which attempt, and the bytes of its model.
// Where this machine cannot make two hosts, the tests say so and check nothing.
#include "tests/support/two_hosts.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/e2e/yard.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

using nlohmann::json;

constexpr int sync_steps = fewer(40);
constexpr int workers = 3;
constexpr int checkpoint_every = sync_steps / 5;

enum class When { always, unless_sanitized };
bool cannot_run(When when = When::always) {
  if (is_sanitized && when == When::unless_sanitized) return true;  // another goes the same ways
  const auto missing = TwoHosts::missing();
  if (missing) WARN("skipped: " << *missing);
  return missing.has_value();
}

// 2 ps, one for each host, and 3 workers: between the hosts a step sends more than the link carries
// in the time of its computing. With adam, checkpoints are three times as large as the model.
json job_between_hosts(const std::string& mode) {
  json spec = small_job(mode == "sync" ? sync_steps : sync_steps * workers);
  spec["mode"] = mode;
  spec["model"]["hidden"] = {1024, 1024};
  spec["model"]["activation"] = "relu";
  spec["roles"] = {{"ps", 2}, {"worker", workers}};
  spec["training"]["batch_size"] = 16;
  spec["training"]["report_every_steps"] = 1;
  spec["training"]["optimizer"] = {{"name", "adam"}, {"learning_rate", 0.001}};
  spec["checkpoint"]["every_steps"] = mode == "sync" ? checkpoint_every : 0;
  return spec;
}

std::int64_t step_of(const json& job) { return job.at("status").at("step").get<std::int64_t>(); }

// A server and the agent "a" on one host, the agent "b" on the other.
class YardOnTwoHosts {
 public:
  struct Setting {
    int cpus_of_a = 3;  // as many as make the gang need both
    int cpus_of_b = 2;
    int stop_after_seconds = 60;
    int lost_after_seconds = 90;
  };

  explicit YardOnTwoHosts(const Setting& setting)
      : hosts_("1gbit"),
        here_(hosts_, 0),
        yard_({"--insecure", "--stop-after-seconds", std::to_string(setting.stop_after_seconds),
               "--lost-after-seconds", std::to_string(setting.lost_after_seconds)},
              TwoHosts::address(0) + ":0") {
    start_agent("a", setting.cpus_of_a);
    const OnHost there(hosts_, 1);
    start_agent("b", setting.cpus_of_b);
  }

  Yard& yard() { return yard_; }

  // Submits it and waits until it trains on both hosts.
  std::string start(const json& spec) {
    yard_.wait_for_agents(2);
    const std::string id = yard_.submit(spec);
    yard_.wait_for_step(id, 1);
    CHECK(agents_of(id, 1) == std::set<std::string>{"a", "b"});
    return id;
  }

  std::set<std::string> agents_of(const std::string& id, int attempt) {
    std::set<std::string> agents;
    for (const json& task : yard_.tasks(id)) {
      if (task.at("attempt") == attempt) agents.insert(task.at("agent").get<std::string>());
    }
    return agents;
  }

  void cut() { hosts_.set_link(Link::cut); }
  // In mid-step: as more is under way than the link carries, frames are half sent.
  // Under a sanitizer tasks compute for too long to fill the link.
  void cut_in_mid_frame() {
    if (is_sanitized) return cut();
    REQUIRE(eventually([&] {
      return hosts_.bytes_waiting(0) > bytes_waiting_min ||
             hosts_.bytes_waiting(1) > bytes_waiting_min;
    }));
    cut();
  }
  void mend() { hosts_.set_link(Link::joined); }

  // Until the server has not heard of "b" for so long.
  void wait_for_silence(int seconds) {
    REQUIRE(eventually([&] { return agent_b().at("silent_seconds") >= seconds; },
                       in_seconds(seconds + 30), rare_looks));
  }

  json agent_b() {
    const json agents = get(yard_.url("/v1/agents")).json().at("items");
    const auto found =
        std::ranges::find_if(agents, [](const json& agent) { return agent.at("id") == "b"; });
    REQUIRE(found != agents.end());
    return *found;
  }

 private:
  static constexpr std::int64_t bytes_waiting_min = 1 << 16;

  void start_agent(const std::string& name, int cpus) {
    yard_.start_agent(name, {"--cpus", std::to_string(cpus), "--memory-mb", "16384"});
  }

  TwoHosts hosts_;
  OnHost here_;  // so the server is there, and this test's calls reach it
  Yard yard_;
};

bool is_running(const json& job) {
  return job.at("status").at("state") == "running" && job.at("status").at("progress") < 1.0;
}

// Some of the job's newest checkpoint is still being written or on its way to the server.
bool is_saving(const json& job) {
  const json& saved = job.at("status").at("latest_checkpoint");
  const std::int64_t due = step_of(job) - step_of(job) % checkpoint_every;
  return is_running(job) && due > 0 && (saved.is_null() || saved.get<std::int64_t>() < due);
}

// Cuts the link while a checkpoint is on its way; where it arrived just before, another is tried.
void cut_while_saving(YardOnTwoHosts& both, const std::string& id) {
  for (;;) {  // until there is no checkpoint more, when wait_for() fails
    both.yard().wait_for(id, is_saving);
    both.cut();
    if (is_saving(both.yard().job(id))) return;
    both.mend();
  }
}

// After a cut: it lasts for some 5 s of training.
void mend_after_a_moment(YardOnTwoHosts& both, const std::string& id) {
  both.wait_for_silence(5);
  CHECK(is_running(both.yard().job(id)));
  both.mend();
}

std::vector<pid_t> processes_of(YardOnTwoHosts& both, const std::string& id) {
  std::vector<pid_t> pids;
  for (const json& task : both.yard().tasks(id)) pids.push_back(task.at("pid").get<pid_t>());
  return pids;
}

// All by its first attempt and by these processes.
void check_success_of(const std::vector<pid_t>& processes, YardOnTwoHosts& both,
                      const std::string& id) {
  const json status = both.yard().wait_for_state(id, "succeeded").at("status");
  CHECK(status.at("attempt") == 1);
  CHECK(status.at("restarts") == json{{"user", 0}, {"infra", 0}});
  CHECK(status.at("progress") == 1.0);
  CHECK(processes_of(both, id) == processes);
}

// Of the sync job, on the same two hosts; there must be no others meanwhile.
const std::string& undisturbed_sha256() {
  static const std::string sha256 = [] {
    YardOnTwoHosts both({});
    const std::string id = both.start(job_between_hosts("sync"));
    check_success_of(processes_of(both, id), both, id);
    return both.yard().model_sha256(id);
  }();
  return sha256;
}

// On both hosts: nobody trains on for an attempt that is given up.
void check_gone(const std::vector<pid_t>& processes) {
  for (const pid_t pid : processes) CHECK(wait_gone(pid, in_seconds(30)));
}

}  // namespace

TEST_CASE("a sync job over two hosts goes on after their link was cut for 5 s, to the same bytes",
          "[e2e][two_hosts]") {
  if (cannot_run()) return;
  const std::string& expected = undisturbed_sha256();
  YardOnTwoHosts both({});
  const std::string id = both.start(job_between_hosts("sync"));

  both.yard().wait_for_step(id, 3);
  const std::vector<pid_t> processes = processes_of(both, id);
  both.cut_in_mid_frame();
  mend_after_a_moment(both, id);
  cut_while_saving(both, id);
  mend_after_a_moment(both, id);

  check_success_of(processes, both, id);
  CHECK(both.yard().model_sha256(id) == expected);
}

TEST_CASE("a long cut of the link places the gang anew when the host is back, to the same bytes",
          "[e2e][two_hosts]") {
  if (cannot_run(When::unless_sanitized)) return;
  const std::string& expected = undisturbed_sha256();
  YardOnTwoHosts both(
      {.cpus_of_a = 2, .cpus_of_b = 3, .stop_after_seconds = 4, .lost_after_seconds = 7});
  const std::string id = both.start(job_between_hosts("sync"));

  both.yard().wait_for_step(id, checkpoint_every + 1);
  const std::vector<pid_t> processes = processes_of(both, id);
  both.cut_in_mid_frame();
  both.yard().wait_for_state(id, "queued");
  check_gone(processes);
  both.mend();

  const json status = both.yard().wait_for_state(id, "succeeded").at("status");
  CHECK(status.at("attempt") == 2);
  CHECK(status.at("restarts") == json{{"user", 0}, {"infra", 1}});
  CHECK(both.agents_of(id, 2) == std::set<std::string>{"a", "b"});
  CHECK(both.yard().model_sha256(id) == expected);
}

TEST_CASE("a long cut of the link places the gang anew on the host that is left, to the same bytes",
          "[e2e][two_hosts]") {
  if (cannot_run()) return;
  const std::string& expected = undisturbed_sha256();
  YardOnTwoHosts both({.cpus_of_a = 5, .stop_after_seconds = 4, .lost_after_seconds = 7});
  const std::string id = both.start(job_between_hosts("sync"));

  const std::vector<pid_t> processes = processes_of(both, id);
  cut_while_saving(both, id);
  const json status = both.yard().wait_for_state(id, "succeeded").at("status");
  check_gone(processes);

  CHECK(status.at("attempt") == 2);
  CHECK(both.agents_of(id, 2) == std::set<std::string>{"a"});
  CHECK(both.agent_b().at("state") == "down");
  CHECK(both.yard().model_sha256(id) == expected);
  both.mend();
  both.yard().wait_for_agents(2);
}

TEST_CASE("an async job over two hosts goes on after their link was cut for 5 s, and ends",
          "[e2e][two_hosts]") {
  if (cannot_run(When::unless_sanitized)) return;
  YardOnTwoHosts both({});
  const json spec = job_between_hosts("async");
  const std::string id = both.start(spec);

  both.yard().wait_for_step(id, 3 * workers);
  const std::vector<pid_t> processes = processes_of(both, id);
  both.cut_in_mid_frame();
  mend_after_a_moment(both, id);

  check_success_of(processes, both, id);
  const json job = both.yard().job(id);
  CHECK(step_of(job) == spec.at("training").at("max_steps"));
  CHECK(job.at("status").at("latest_checkpoint") == spec.at("training").at("max_steps"));
  CHECK_FALSE(both.yard().model_file(id).empty());
}

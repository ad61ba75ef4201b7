// Where the tasks of real jobs listen, and what becomes of a port that another program holds.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/e2e/yard.h"
#include "tests/support/loopback.h"
#include "tests/support/temp_folder.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

// The inodes of the process's sockets.
std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code error;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

struct Listening {
  std::string host;  // in hexadecimal, as /proc has it
  int port = 0;
};

std::vector<Listening> listening_of(pid_t pid) {
  const std::set<std::string> sockets = sockets_of(pid);
  std::vector<Listening> found;
  for (const char* file : {"tcp", "tcp6"}) {
    std::ifstream lines("/proc/" + std::to_string(pid) + "/net/" + file);
    std::string line;
    std::getline(lines, line);  // the names of the columns
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retries, user, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout;
      fields >> inode;
      if (state != "0A" || !sockets.contains(inode)) continue;
      const std::size_t colon = local.find(':');
      found.push_back({local.substr(0, colon), std::stoi(local.substr(colon + 1), nullptr, 16)});
    }
  }
  return found;
}

// 127.0.0.1, and as gRPC has it, in a socket of the other family.
bool is_loopback(const std::string& host) {
  return host == "0100007F" || host == "0000000000000000FFFF00000100007F";
}

void check_listening(Yard& yard, const std::string& id, std::set<std::string> listeners) {
  for (const auto& task : yard.tasks(id)) {
    const auto role = task.at("role").get<std::string>();
    const auto listening = listening_of(task.at("pid").get<pid_t>());
    INFO(role << " listens on " << listening.size() << " ports");
    CHECK(listening.size() == (listeners.contains(role) ? 1U : 0U));  // no model has a table
    for (const Listening& one : listening) {
      CHECK(is_loopback(one.host));
      CHECK(one.port >= yard.ports_of("a").first);
      CHECK(one.port <= yard.ports_of("a").second);
    }
  }
}

// Another program on the port, on all interfaces.
int hold(int port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  REQUIRE(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(descriptor, 1) == 0);
  return descriptor;
}

}  // namespace

TEST_CASE("tasks listen on the agent's own address and within its ports", "[e2e][mend-B1]") {
  Yard yard;
  yard.start_agent("a", {"--cpus", "16"});
  yard.wait_for_agents(1);
  auto with_ps = small_job(1'000'000);
  with_ps["roles"] = {{"ps", 2}, {"worker", 2}};
  auto all_reduce = small_job(1'000'000);
  all_reduce["roles"] = {{"worker", 2}};
  all_reduce["training"]["strategy"] = "all_reduce";
  const std::string first = yard.submit(with_ps);
  const std::string second = yard.submit(all_reduce);
  yard.wait_for_step(first, 1);
  yard.wait_for_step(second, 1);

  check_listening(yard, first, {"ps"});
  check_listening(yard, second, {"worker"});

  const auto cluster = get(yard.url("/v1/jobs/" + first + "/cluster")).json();
  CHECK(cluster.at("ps").size() == 2);
  CHECK(cluster.at("worker").size() == 2);
  for (const std::string& id : {first, second}) post(yard.url("/v1/jobs/" + id + "/cancel"));
  for (const std::string& id : {first, second}) yard.wait_for_state(id, "cancelled");
}

TEST_CASE("a port that another program holds is no fault of the user's", "[e2e][mend-B1]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const int first = yard.ports_of("a").first;  // of the first ps
  const int holder = hold(first);

  const std::string id = yard.submit(small_job(40));
  const auto status = yard.wait_for_state(id, "succeeded").at("status");

  CHECK(status.at("attempt") == 2);
  CHECK(status.at("restarts").at("user") == 0);
  CHECK(status.at("restarts").at("infra") == 1);
  bool said = false;
  for (const auto& transition : status.at("transitions")) {
    if (transition.at("reason") != "PORT_IN_USE") continue;
    said = true;
    CHECK_THAT(transition.at("message").get<std::string>(),
               Catch::Contains("port " + std::to_string(first)));
  }
  CHECK(said);
  ::close(holder);
}

TEST_CASE("a port that is taken after all ends the task as INFRA", "[e2e][mend-B1]") {
  const TempFolder folder;
  folder.write("train", "+1 1:1\n-1 2:1\n");
  folder.write("test", "+1 1:1\n");
  const Descriptor held = listen_on_loopback();
  const int port = port_of_socket(held);
  const std::string here = "127.0.0.1:" + std::to_string(port);
  nlohmann::json with_table = small_job(10);
  with_table["model"] = {{"name", "wide_and_deep"}, {"hidden", {8}}, {"embedding_size", 5}};
  with_table["dataset"] = {{"name", "made"},
                           {"format", "libsvm"},
                           {"path", folder.path("train")},
                           {"test_path", folder.path("test")}};

  // The one at which it listens to workers, and the one where rows of its table are to be had.
  for (const bool is_first : {true, false}) {
    nlohmann::json task = {{"role", "ps"}, {"index", 0}, {"cluster", {{"ps", {here}}}}};
    task["spec"] = is_first ? small_job(10) : with_table;
    task["folder"] = folder.path(is_first ? "first" : "second");
    task["listen"] = is_first ? here : "127.0.0.1:0";
    task["rows_port"] = is_first ? 0 : port;
    const std::string file = folder.path(is_first ? "first.json" : "second.json");
    std::ofstream(file) << task;
    Program runtime("trainyard-runtime", {file});
    const auto status = runtime.wait(in_seconds(60));
    REQUIRE(status);
    CHECK(WEXITSTATUS(*status) == 1);
    const std::string text = content_of(task["folder"].get<std::string>() + "/events.jsonl");
    CHECK_THAT(text, Catch::Contains("PORT_IN_USE") && Catch::Contains(std::to_string(port)));
  }
}

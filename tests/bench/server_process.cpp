#include "tests/bench/server_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "schemas/base/check.h"
#include "tests/bench/bench.h"
#include "tests/support/program_path.h"

namespace trainyard::bench {
namespace {

std::string read_line(int descriptor) {
  std::string line;
  for (char letter = 0; ::read(descriptor, &letter, 1) == 1 && letter != '\n';) line += letter;
  return line;
}

std::string address_in(const std::string& line, const std::string& name) {
  const std::string key = "\"" + name + "\":\"";
  const std::size_t start = line.find(key);
  ENSURE(start != std::string::npos);
  const std::size_t from = start + key.size();
  return line.substr(from, line.find('"', from) - from);
}

// Until the server ends: a server whose log nobody reads would wait for ever.
void read_away(int descriptor) {
  char buffer[65'536];
  while (::read(descriptor, buffer, sizeof buffer) > 0) {
  }
  ::close(descriptor);
}

}  // namespace

ServerProcess::ServerProcess() {
  const std::string program = program_path("trainyard-server");
  const std::string state = folder_.path("state");
  int log[2];
  ENSURE(::pipe2(log, O_CLOEXEC) == 0);
  const char* arguments[] = {program.c_str(), "--state-dir",     state.c_str(), "--http-address",
                             "127.0.0.1:0",   "--agent-address", "127.0.0.1:0", nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, log[1], STDERR_FILENO);
  ENSURE(::posix_spawn(&pid_, program.c_str(), &actions, nullptr,
                       const_cast<char* const*>(arguments), environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(log[1]);
  std::string line;
  while (line.find("\"http_address\"") == std::string::npos) line = read_line(log[0]);
  http_address_ = address_in(line, "http_address");
  agent_address_ = address_in(line, "agent_address");
  log_reader_ = std::jthread(read_away, log[0]);
}

ServerProcess::~ServerProcess() {
  ::kill(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
}

double ServerProcess::cpu_seconds() const { return cpu_seconds_of(pid_); }

}  // namespace trainyard::bench

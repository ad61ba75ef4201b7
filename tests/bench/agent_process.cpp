#include "tests/bench/agent_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "schemas/base/check.h"
#include "tests/support/program_path.h"

namespace trainyard::bench {

AgentProcess::AgentProcess(const ServerProcess& server) {
  const std::string program = program_path("trainyard-agent");
  const std::string work = server.folder() + "/agent";
  const std::string log = server.folder() + "/agent.log";
  const std::string& address = server.agent_address();
  // Many more jobs at once than cores: each waits for its disk and its peers most of the time.
  const char* arguments[] = {
      program.c_str(), "--server",  address.c_str(), "--name", "bench", "--work-dir",
      work.c_str(),    "--address", "127.0.0.1",     "--cpus", "24",     "--ports",
      "12000-13999",   nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT,
                                     0600);
  ENSURE(::posix_spawn(&pid_, program.c_str(), &actions, nullptr,
                       const_cast<char* const*>(arguments), environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
}

AgentProcess::~AgentProcess() {
  ::kill(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
}

// Fields 14 to 17 of /proc/PID/stat, in ticks; the name before them may hold anything but is closed
// by the last bracket.
double AgentProcess::cpu_seconds() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double ticks = 0;
  for (int field = 14; field < 18; ++field) {
    double more = 0;
    fields >> more;
    ticks += more;
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace trainyard::bench

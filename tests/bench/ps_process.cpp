#include "tests/bench/ps_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stop_token>
#include <thread>

#include "runtime/net/ps_server.h"
#include "schemas/base/check.h"
#include "schemas/wire/spec_names.h"
#include "tests/bench/bench.h"

extern char** environ;

namespace trainyard::bench {

PsProcess::PsProcess(std::int64_t elements, Wire wire) {
  int in[2];
  int out[2];
  ENSURE(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0);
  const std::string count = std::to_string(elements);
  const std::string name(find_name(wire_names, wire));
  const char* arguments[] = {"trainyard-bench", "--ps", count.c_str(), name.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  ENSURE(::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr,
                       const_cast<char* const*>(arguments), environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  stdin_ = in[1];
  std::FILE* const answer = ::fdopen(out[0], "r");
  int port = 0;
  ENSURE(std::fscanf(answer, "%d", &port) == 1);
  std::fclose(answer);
  address_ = "127.0.0.1:" + std::to_string(port);
}

PsProcess::~PsProcess() {
  ::close(stdin_);
  int status = 0;
  ::waitpid(pid_, &status, 0);
}

double PsProcess::cpu_seconds() const { return cpu_seconds_of(pid_); }

int run_ps_process(std::int64_t elements, std::string_view wire) {
  using namespace trainyard::runtime;  // NOLINT: this function is about it
  auto server = PsServer::start(
      {.listen = "127.0.0.1:0", .token = "bench"},
      {.rules = {.gate = {.mode = Mode::sync, .ranks = 1, .max_steps = INT64_MAX},
                 .optimizer = {},
                 .wire = find_value(wire_names, wire).value(),
                 .share = {}},
       .share = plan_shares(elements, 1).front(),
       .arena_elements = elements,
       .shard = ParameterShard({}, AlignedBuffer(static_cast<std::size_t>(elements)), {}),
       .start = {},
       .files = {}});
  ENSURE(server.has_value());
  std::printf("%d\n", (*server)->port());
  std::fflush(stdout);
  std::stop_source over;
  std::thread([over]() mutable {
    while (std::getchar() != EOF) {
    }
    over.request_stop();
  }).detach();
  return (*server)->serve(over.get_token()).has_value() ? 0 : 1;
}

}  // namespace trainyard::bench

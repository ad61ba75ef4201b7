// The program trainyard-agent, run by a test.
#pragma once

#include <signal.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/host/process.h"
#include "tests/support/program_path.h"
#include "tests/support/temp_folder.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {

// Runs trainyard-agent in a folder, with its output in the file "log" there.
class AgentProgram {
 public:
  AgentProgram(const TempFolder& folder, const std::vector<std::string>& arguments,
               std::map<std::string, std::string> environment = {})
      : log_(folder.path("log")) {
    ProcessSpec spec{.argv = {program_path("trainyard-agent")},
                     .environment = std::move(environment),
                     .folder = folder.path(),
                     .log_path = log_};
    spec.environment["PATH"] = "/usr/bin:/bin";
    for (const char* name : {"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
      if (const char* value = std::getenv(name)) spec.environment[name] = value;
    }
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    const auto pid = host_.start(spec, [this](const ProcessEnd& end) { end_.set(end.exit); });
    REQUIRE(pid);
    pid_ = *pid;
  }

  void signal(int number) const { ::kill(static_cast<pid_t>(pid_), number); }

  ExitStatus wait() {
    const auto end = end_.wait();
    REQUIRE(end);
    return *end;
  }

  [[nodiscard]] std::string output() const { return content_of(log_); }

  // Its first log line, once it is there.
  [[nodiscard]] nlohmann::json first_line() const {
    REQUIRE(eventually([&] { return output().find('\n') != std::string::npos; }));
    const std::string text = output();
    return nlohmann::json::parse(text.substr(0, text.find('\n')), nullptr, false);
  }

 private:
  std::string log_;
  std::int64_t pid_ = 0;
  Awaited<ExitStatus> end_;
  ProcessHost host_;
};

}  // namespace trainyard::agent

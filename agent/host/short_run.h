// Runs a program that says little and ends soon, and reads what it said.
#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>

#include "agent/host/process.h"
#include "schemas/base/result.h"

namespace trainyard::agent {

struct ShortRun {
  ProcessSpec process;  // without a log and without output
  std::chrono::milliseconds deadline{0};
  std::size_t bytes_max = 4096;  // of all that it prints
};

// What it printed, on stdout and stderr. An error where it did not end with exit code 0, with the
// last line of its words; where it printed too much; and where it was killed: at the deadline, or
// as the caller is to stop. Then it is waited for a moment longer, and left to the host.
Result<std::string> output_of(ProcessHost& host, const ShortRun& run, const std::stop_token& stop);

// Without the end of the line.
std::string last_line(std::string_view text);

}  // namespace trainyard::agent

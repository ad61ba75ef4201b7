// Another process of this program, that does one part of a benchmark: lines go in and come out.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace trainyard::bench {

class SelfProcess {
 public:
  // `before_command`: as TwoHosts::at() gives it.
  explicit SelfProcess(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& before_command = {});
  ~SelfProcess();  // ends its standard input, which is to end it, and waits
  SelfProcess(const SelfProcess&) = delete;
  SelfProcess& operator=(const SelfProcess&) = delete;

  void write_line(const std::string& line);
  std::string read_line();
  [[nodiscard]] double cpu_seconds() const;

 private:
  pid_t pid_ = -1;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
};

// A line of standard input; false at its end.
bool read_line(std::string& line);
// To standard output, at once.
void write_line(const std::string& line);

}  // namespace trainyard::bench

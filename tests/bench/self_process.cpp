#include "tests/bench/self_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "schemas/base/check.h"
#include "tests/bench/bench.h"

extern char** environ;

namespace trainyard::bench {

SelfProcess::SelfProcess(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& before_command) {
  int in[2];
  int out[2];
  ENSURE(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0);
  std::vector<std::string> copies = before_command;
  copies.push_back(std::filesystem::read_symlink("/proc/self/exe"));
  copies.insert(copies.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  for (std::string& word : copies) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  ENSURE(::posix_spawn(&pid_, words.front(), &actions, nullptr, words.data(), environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  in_ = ::fdopen(in[1], "w");
  out_ = ::fdopen(out[0], "r");
}

SelfProcess::~SelfProcess() {
  std::fclose(in_);
  std::fclose(out_);
  int status = 0;
  ::waitpid(pid_, &status, 0);
}

void SelfProcess::write_line(const std::string& line) {
  ENSURE(std::fputs((line + "\n").c_str(), in_) >= 0 && std::fflush(in_) == 0);
}

std::string SelfProcess::read_line() {
  std::string line;
  for (int letter = std::fgetc(out_); letter != '\n'; letter = std::fgetc(out_)) {
    ENSURE(letter != EOF);
    line += static_cast<char>(letter);
  }
  return line;
}

double SelfProcess::cpu_seconds() const { return cpu_seconds_of(pid_); }

bool read_line(std::string& line) { return static_cast<bool>(std::getline(std::cin, line)); }

void write_line(const std::string& line) { std::cout << line << std::endl; }

}  // namespace trainyard::bench

// The programs, run as a user runs them, to their end.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/support/program_path.h"
#include "tests/support/temp_folder.h"

namespace trainyard::client {

struct Run {
  int exit_code = -1;
  std::string output;
  std::string errors;
};

// `arguments` as in a shell, which also may set variables before the program's name.
inline Run run_program(const std::string& name, const std::string& arguments,
                       const std::string& variables = "") {
  const TempFolder folder;
  const std::string command = variables + " " + program_path(name) + " " + arguments + " >" +
                              folder.path("out") + " 2>" + folder.path("err") + " </dev/null";
  const int status = std::system(command.c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .output = content_of(folder.path("out")),
          .errors = content_of(folder.path("err"))};
}

inline Run run(const std::string& arguments, const std::string& variables = "") {
  return run_program("trainyard", arguments, variables);
}

}  // namespace trainyard::client

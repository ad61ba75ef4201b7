// What a task's process is started with: its task.json and its environment.
#pragma once

#include <string>

#include "agent/host/process.h"
#include "schemas/base/result.h"
#include "schemas/types/agent.h"

namespace trainyard::agent {

struct Launch {
  const WantedTask& wanted;
  std::string runtime;         // the program
  std::string transport;       // the best way to parameter servers that it may try
  std::string folder;          // the task's own; task.json goes here
  std::string restore_folder;  // holds the files of wanted.restore, where there is one
};

// Writes task.json, with the paths filled in that only this host knows, and says how to start the
// program on it.
Result<ProcessSpec> prepare_launch(const Launch& launch);

// The task's own variables on top of a few of the agent's: a task sees nothing else of the agent's
// environment.
std::map<std::string, std::string> task_environment(const WantedTask& wanted,
                                                    const std::string& transport);

}  // namespace trainyard::agent

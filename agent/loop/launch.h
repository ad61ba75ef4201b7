// What a task's process is started with: its task.json and its environment.
#pragma once

#include <map>
#include <span>
#include <string>

#include "agent/host/process.h"
#include "schemas/base/result.h"
#include "schemas/types/agent.h"

namespace trainyard::agent {

struct Launch {
  const WantedTask& wanted;
  std::string runtime;                  // the program
  std::string transport;                // the best way to parameter servers that it may try
  std::vector<std::string> data_roots;  // where it may read data; empty = anywhere
  DataCacheSpec data_cache;             // of this host's tasks
  std::string folder;                   // the task's own; task.json goes here
  std::vector<GpuInfo> gpus;            // of the host
  std::string restore_folder;           // holds the files of wanted.restore, where there is one
};

// Writes task.json, with the paths filled in that only this host knows, and says how to start the
// program on it.
Result<ProcessSpec> prepare_launch(const Launch& launch);

// Whether the data that its spec names are where it may read. The task looks again when it has
// opened them.
Status check_data(const DatasetSpec& data, const std::vector<std::string>& roots);

// `invalid` where a variable is none that a job may set on this host. The server refuses such jobs
// at submit; here is where it counts.
Status check_environment(const std::map<std::string, std::string>& environment,
                         std::span<const std::string> allowed);

// Of the slots, for CUDA_VISIBLE_DEVICES: UUIDs, which mean the same GPU to every library and in
// every container; numbers where a slot has none, as CUDA reads no list of both.
std::string visible_devices(const std::vector<int>& slots, const std::vector<GpuInfo>& gpus);

// What every process has of the agent's environment.
std::map<std::string, std::string> inherited_environment();

// The task's own variables on top of a few of the agent's: a task sees nothing else of the agent's
// environment.
std::map<std::string, std::string> task_environment(const Launch& launch);

}  // namespace trainyard::agent

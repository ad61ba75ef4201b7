#include "agent/loop/launch.h"

#include <cstdlib>

#include "schemas/files/whole_file.h"
#include "schemas/types/transport.h"
#include "schemas/wire/task_json.h"

namespace trainyard::agent {
namespace {

std::string slot_list(const std::vector<int>& gpus) {
  std::string list;
  for (const int gpu : gpus) list += (list.empty() ? "" : ",") + std::to_string(gpu);
  return list;
}

}  // namespace

Result<ProcessSpec> prepare_launch(const Launch& launch) {
  TaskContext context = launch.wanted.task;
  context.folder = launch.folder;
  context.keep_files = false;
  context.tasks_return = true;
  context.restore.reset();
  if (const auto& checkpoint = launch.wanted.restore) {
    context.restore = RestoreFrom{.folder = launch.restore_folder,
                                  .step = checkpoint->step,
                                  .manifest = checkpoint->manifest,
                                  .shards = checkpoint->shards};
  }
  const std::string task_json = launch.folder + "/task.json";
  TRY(write_file_durably(task_json, to_json(context)));
  return ProcessSpec{.argv = {launch.runtime, task_json},
                     .environment = task_environment(launch.wanted, launch.transport),
                     .folder = launch.folder,
                     .log_path = launch.folder + "/task.log"};
}

std::map<std::string, std::string> task_environment(const WantedTask& wanted,
                                                    const std::string& transport) {
  std::map<std::string, std::string> environment;
  for (const char* name : {"PATH", "HOME", "LANG"}) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  environment["OMP_NUM_THREADS"] = std::to_string(std::max<std::int64_t>(1, wanted.resources.cpus));
  for (const auto& [name, value] : wanted.task.spec.env) environment[name] = value;

  // Not the job's to change: what the operator allows, and which GPUs are its own, numbered as the
  // agent numbers them.
  environment[transport_variable] = transport;
  environment["CUDA_VISIBLE_DEVICES"] = slot_list(wanted.gpus);
  environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  const TaskKey& key = wanted.task.key;
  environment["TRAINYARD_JOB"] = key.job.text;
  environment["TRAINYARD_ATTEMPT"] = std::to_string(key.attempt);
  environment["TRAINYARD_TASK"] = task_name(key);
  return environment;
}

}  // namespace trainyard::agent

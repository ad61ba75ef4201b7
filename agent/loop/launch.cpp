#include "agent/loop/launch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "schemas/base/utf8.h"
#include "schemas/files/whole_file.h"
#include "schemas/types/data_roots.h"
#include "schemas/types/env_names.h"
#include "schemas/types/transport.h"
#include "schemas/wire/task_json.h"

namespace trainyard::agent {
namespace {

std::string uuid_of(int slot, const std::vector<GpuInfo>& gpus) {
  const auto found = std::ranges::find(gpus, slot, &GpuInfo::index);
  return found == gpus.end() ? std::string() : found->uuid;
}

// Those of the kind, where all slots are of one.
ProductRates rates_of(const std::vector<int>& slots, const std::vector<GpuInfo>& gpus) {
  const GpuInfo* first = nullptr;
  for (const int slot : slots) {
    const auto found = std::ranges::find(gpus, slot, &GpuInfo::index);
    if (found == gpus.end()) return {};
    if (first == nullptr) first = &*found;
    if (found->name != first->name) return {};
  }
  return first == nullptr ? ProductRates{} : first->product_rates;
}

}  // namespace

std::string visible_devices(const std::vector<int>& slots, const std::vector<GpuInfo>& gpus) {
  const bool have_uuids =
      std::ranges::none_of(slots, [&](int slot) { return uuid_of(slot, gpus).empty(); });
  std::string list;
  for (const int slot : slots) {
    list += (list.empty() ? "" : ",") + (have_uuids ? uuid_of(slot, gpus) : std::to_string(slot));
  }
  return list;
}

std::map<std::string, std::string> inherited_environment() {
  std::map<std::string, std::string> environment;
  for (const char* name : {"PATH", "HOME", "LANG"}) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  return environment;
}

Result<ProcessSpec> prepare_launch(const Launch& launch) {
  TaskContext context = launch.wanted.task;
  context.folder = launch.folder;
  context.keep_files = false;
  context.tasks_return = true;
  context.data_cache = launch.data_cache;
  context.gpu_product_rates = rates_of(launch.wanted.gpus, launch.gpus);
  context.restore.reset();
  if (const auto& checkpoint = launch.wanted.restore) {
    context.restore = RestoreFrom{.folder = launch.restore_folder,
                                  .step = checkpoint->step,
                                  .manifest = checkpoint->manifest,
                                  .shards = checkpoint->shards};
  }
  const std::string task_json = launch.folder + "/task.json";
  TRY(write_file(task_json, to_json(context)));
  return ProcessSpec{.argv = {launch.runtime, task_json},
                     .environment = task_environment(launch),
                     .folder = launch.folder,
                     .log_path = launch.folder + "/task.log"};
}

Status check_data(const DatasetSpec& data, const std::vector<std::string>& roots) {
  const std::pair<const char*, const std::string&> named[] = {
      {"dataset.path", data.path}, {"dataset.test_path", data.test_path}};
  for (const auto& [field, path] : named) {
    if (path.empty() || roots.empty()) continue;
    std::error_code error;
    const auto real = std::filesystem::weakly_canonical(path, error);
    if (error || !is_below_data_root(real.string(), roots)) {
      return invalid(outside_data_roots(field, path, roots));
    }
  }
  return ok();
}

Status check_environment(const std::map<std::string, std::string>& environment,
                         std::span<const std::string> allowed) {
  for (const auto& [name, value] : environment) {
    if (is_env_name(name) && is_env_allowed(name, allowed)) continue;
    return invalid("this agent does not allow jobs to set the environment variable " +
                   to_valid_utf8(name.substr(0, env_name_length_max)));
  }
  return ok();
}

std::map<std::string, std::string> task_environment(const Launch& launch) {
  const WantedTask& wanted = launch.wanted;
  std::map<std::string, std::string> environment = inherited_environment();
  environment["OMP_NUM_THREADS"] = std::to_string(std::max<std::int64_t>(1, wanted.resources.cpus));
  for (const auto& [name, value] : wanted.task.spec.env) environment[name] = value;

  // Not the job's to change: what the operator allows, and which GPUs are its own; numbers,
  // where there are any, are as the agent has them.
  environment[transport_variable] = launch.transport;
  environment[data_roots_variable] = join_data_roots(launch.data_roots);
  environment["CUDA_VISIBLE_DEVICES"] = visible_devices(wanted.gpus, launch.gpus);
  environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  const TaskKey& key = wanted.task.key;
  environment["TRAINYARD_JOB"] = key.job.text;
  environment["TRAINYARD_ATTEMPT"] = std::to_string(key.attempt);
  environment["TRAINYARD_TASK"] = task_name(key);
  return environment;
}

}  // namespace trainyard::agent

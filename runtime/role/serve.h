// A task's share of the parameters, served: by a ps, and by every worker of an all-reduce.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/graph/device.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/served_share.h"
#include "runtime/role/task.h"

namespace trainyard::runtime {

// Where a share is updated.
struct UpdatePlace {
  // For nothing else, as DeviceShare has it; null: the CPU.
  std::unique_ptr<Device> device = nullptr;
  std::size_t spare_bytes = 0;  // of its memory, that stay free for who computes there
  // The device has failed: as in ServerOptions.
  std::function<void(const std::string& why)> on_failed = {};
};

// Listens when this returns. `plan` and `task` outlive the server. `index` is the share's.
Result<std::unique_ptr<ServedShare>> open_share(const Task& task, const JobPlan& plan,
                                                std::size_t index, UpdatePlace place = {});

// How the rows of an embedding table are pushed and made.
RowStore::Rules row_rules(const TaskContext& context, const JobPlan& plan);

// Where the shares are served, by index: "host:port".
std::vector<std::string> share_addresses(const TaskContext& context);

}  // namespace trainyard::runtime

// Why a gang could not run on some hosts even if they were empty, by the part of its spec that is
// in the way: what a 422 lists, and what the reason NO_CAPACITY says.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/explain.h"
#include "scheduler/core/place.h"

namespace trainyard::scheduler {

// Whose hosts they are, for the sentences: "known" or "ready".
enum class Asked { known, ready };

// Nothing where the gang could run. Without hosts only what no agent allows by itself is in the
// way: the rest may come with the first one.
std::vector<SpecFault> obstacles(const JobSpec& spec, std::span<const Host> empty, Asked asked);

// The same as one sentence; "" where nothing is in the way.
std::string obstacles_in_words(const JobSpec& spec, std::span<const Host> empty, Asked asked);

// "1 cpu, 1024 MB of memory"
std::string in_words(const Resources& resources);
// The same, and what is asked of its GPUs.
std::string task_in_words(const TaskGroup& group);
// "1 ps of 1 cpu, 1024 MB of memory and 2 worker of 1 cpu, ..."
std::string gang_in_words(const JobSpec& spec);

}  // namespace trainyard::scheduler

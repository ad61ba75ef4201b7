// Sentences about the GPU slots of a host that a task cannot have, and why.
#pragma once

#include <functional>
#include <string>

#include "scheduler/core/place.h"

namespace trainyard::scheduler {

// "15,360"
std::string grouped(std::int64_t number);

// "with \"A100\" in its name and 24,000 MB or more"; "" where nothing is asked for.
std::string wish_in_words(const GpuWish& wish);

// Who has the slot: "worker/0 of job 0k3v9x2m7q"; "" for nobody.
using HolderOf = std::function<std::string(int slot)>;

// `slot 1 of "box": NVIDIA T4 has 15,360 MB, 24,000 are wanted; slot 0: is used by process 4711
// (2,048 MiB), which is not ours`. Of each slot one reason, of the first few that have one.
std::string slots_in_words(const Host& host, const GpuWish& wish, const HolderOf& holder_of);

}  // namespace trainyard::scheduler

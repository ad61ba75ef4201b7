// The named ways to divide a model's arena among the tasks that hold parameters, and what each of
// them then has. Every task of a job computes the division for itself, so it is a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/chunk_plan.h"
#include "runtime/core/variable.h"
#include "schemas/types/partition.h"

namespace trainyard::runtime {

// One share for each holder. Together they cover the arena once, padding included; the borders lie
// where variables begin or on whole cache lines. Where there are fewer variables or elements than
// holders, some have nothing.
//   chunks       plan_shares()
//   round_robin  whole variables by turns, in the order of creation: TensorFlow's
//                replica_device_setter
//   greedy       whole variables in the order of creation, each to the holder with the fewest bytes
//                so far: TensorFlow's GreedyLoadBalancingStrategy with byte_size_load_fn
std::vector<Share> partition_arena(Partitioning policy, std::span<const Variable> variables,
                                   std::int64_t arena_elements, std::int64_t holders);

// What each share holds of which variables, the largest first; of all shares together some hundred
// are named, the others are counted. Tasks and transports are the caller's to add.
Partition describe_partition(Partitioning policy, std::span<const Variable> variables,
                             std::span<const Share> shares);

}  // namespace trainyard::runtime

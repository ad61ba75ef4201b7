// Where a gang goes: a whole gang or nothing. Pure arithmetic over what hosts have free.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schemas/types/agent.h"
#include "schemas/types/job_spec.h"
#include "schemas/types/resources.h"
#include "schemas/types/task.h"

namespace trainyard::scheduler {

// The tasks of one role, which are alike.
struct TaskGroup {
  Role role = Role::worker;
  std::int64_t replicas = 0;
  Resources each;
  PlacementPolicy policy = PlacementPolicy::pack;
  std::int64_t ports = 1;  // that each is given
  GpuWish gpu = {};        // of each of each.gpus
};
std::vector<TaskGroup> gang_of(
    const JobSpec& spec);  // groups of at least one replica, in order of Role

// An agent as placement sees it. What it points to belongs to the agent and outlives the placement.
struct Host {
  AgentId agent;
  Resources free;
  std::int64_t ports = 0;  // free ones
  const std::map<std::string, std::string>* labels = nullptr;
  std::int64_t assignment_bytes =
      assigned_jobs_bytes_max;  // for more jobs in its assignment (assignment_size.h)
  const std::vector<std::string>* allowed_env = nullptr;  // besides what all allow
  std::span<const GpuInfo> slots = {};                    // all, with those that are not free
  std::span<const GpuReading> readings = {};  // of them, by index; one with a stranger is not free
  const std::set<int>* free_slots = nullptr;  // that no task has; nullptr: all of them
  std::vector<int> given_back = {};           // free besides
};

struct Seat {
  Role role = Role::worker;
  std::int64_t index = 0;
  AgentId agent;
  std::vector<int> gpus = {};  // slot numbers
};
using Placement = std::vector<Seat>;  // in order of (role, index)

using Labels = std::map<std::string, std::string>;
bool carries(const Labels& has, const Labels& wanted);

// Whether the host has the labels that the spec asks for and allows the variables that it sets.
bool admits(const Host& host, const JobSpec& spec);

// The process of others that uses the slot's GPU, the one that uses most of it.
const GpuProcess* stranger_on(std::span<const GpuReading> readings, int slot);

// The host's slots that are free and as the wish asks.
std::vector<const GpuInfo*> cards_for(const GpuWish& wish, const Host& host);

// How many tasks of the group the host can hold now, at most `replicas`.
std::int64_t count_that_fit(const TaskGroup& group, const Host& host);

// A seat for every task, or nothing; of workers as many as there is room for, if the spec lets a
// gang begin with fewer. `spread` takes the host with the fewest tasks of the role,
// `pack` the host that holds the most of what is left, and of those the one with the least to
// spare. Groups that spread are seated first, then large tasks before small ones; where that fails,
// large tasks before small ones whatever their policy; where that fails, all groups are packed.
// A task gets the GPUs that the fewest groups of the gang ask for, of those the ones with the least
// memory, of those the lowest slots.
// Costs O(hosts x seats).
std::optional<Placement> place(const JobSpec& spec, std::span<const Host> hosts);

}  // namespace trainyard::scheduler

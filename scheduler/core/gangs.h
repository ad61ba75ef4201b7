// Which waiting gangs go now. In order of priority and age; a gang is placed whole or not at all.
//
// The head is not starved: where a gang does not fit now, every agent that could ever hold one of
// its tasks is reserved for it, and those behind it are only placed on the others. So whatever
// starts behind it can not delay it. A gang that backs off is not in the queue; one that the agents
// could not hold even if all were empty is parked until an agent comes that could help. Neither
// blocks anybody.
#pragma once

#include <vector>

#include "scheduler/core/turn.h"

namespace trainyard::scheduler {

// Gangs that do not fit and are looked past in one pass; those behind have to wait for the next.
inline constexpr int looked_past_max = 64;

// Nothing unless something changed that may let a gang in.
void place_gangs(Turn& turn);

// An agent takes tasks again: those who waited for one like it are looked at again.
void welcome(Turn& turn, const LiveAgent& agent);

// All agents, as they would be with no task. `known` has silent, cordoned and lost ones too, and
// GPUs that others use.
enum class Agents { expected, known };
std::vector<Host> empty_hosts(const State& state, Agents which);
// The agents that take tasks, as they are.
std::vector<Host> free_hosts(const State& state);

// One task of the gang could run on the agent, if it were empty.
bool could_use(const JobSpec& spec, const LiveAgent& agent);

}  // namespace trainyard::scheduler

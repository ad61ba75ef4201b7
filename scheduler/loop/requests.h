// What each call of the Scheduler does on the loop's thread: a step of the core, and an answer
// after its save.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/loop/loop.h"
#include "scheduler/loop/scheduler.h"

namespace trainyard::scheduler::requests {

template <class T>
using Done = Scheduler::Done<T>;

void submit(Loop& loop, NewJob job, Done<Submitted> done);
void act(Loop& loop, const ActOnJob& action, Done<Job> done);
void remove(Loop& loop, const JobId& id, Done<std::monostate> done);
void set_cordon(Loop& loop, const SetCordon& order, Done<AgentView> done);
void drain(Loop& loop, const DrainAgent& order, Done<AgentView> done);
void forget(Loop& loop, const ForgetAgent& order, Done<std::monostate> done);
void plan(Loop& loop, JobSpec spec, Done<Planned> done);
void explain(Loop& loop, const JobId& id, Done<std::optional<Explanation>> done);
void agents(Loop& loop, Done<std::vector<AgentView>> done);

}  // namespace trainyard::scheduler::requests

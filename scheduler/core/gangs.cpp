#include "scheduler/core/gangs.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/lifecycle.h"
#include "scheduler/core/obstacles.h"
#include "scheduler/core/retry.h"
#include "schemas/base/check.h"

namespace trainyard::scheduler {
namespace {

// One look at the queue, from its head on.
class Pass {
 public:
  explicit Pass(Turn& turn) : turn_(turn), hosts_(free_hosts(turn.state)) {}

  void run() {
    std::optional<QueueKey> after;
    while (auto head = turn_.state.queue.next_head(after)) {
      after = head->first;
      LiveJob& job = turn_.state.jobs.at(head->second);
      if (const auto placement = place_now(job.row)) {
        start_gang(turn_, job, *placement);
        refresh(*placement);
      } else if (!place(job.row.spec, expected())) {
        park(job);
      } else if (block(job) == Behind::nobody) {
        return;
      }
    }
  }

 private:
  enum class Behind { some, nobody };

  // Away from the host that the last attempt failed on, if there is room elsewhere for as many
  // tasks: else there again, as what was wrong may be over, and the others be taken for long.
  std::optional<Placement> place_now(const Job& job) {
    auto anywhere = place(job.spec, hosts_);
    const auto& failure = job.first_failure;
    const bool is_host_bad =
        failure && failure->attempt == job.attempt && is_of_host(failure->reason);
    if (!anywhere || !is_host_bad) return anywhere;
    std::vector<Host> others = hosts_;
    std::erase_if(others, [&](const Host& host) { return host.agent == failure->agent; });
    auto elsewhere = place(job.spec, others);
    return elsewhere && elsewhere->size() == anywhere->size() ? elsewhere : anywhere;
  }

  std::span<const Host> expected() {
    if (!expected_) expected_ = empty_hosts(turn_.state, Agents::expected);
    return *expected_;
  }

  void refresh(const Placement& placement) {
    for (const Seat& seat : placement) {
      const auto host = std::ranges::lower_bound(hosts_, seat.agent, {}, &Host::agent);
      *host = host_of(turn_.state.agents.at(seat.agent), Room::now);
    }
  }

  void park(LiveJob& job) {
    turn_.state.queue.park(job.row);
    const bool nobody = expected().empty();
    if (nobody) return show(job, Reason::no_agents, "no agent is ready");
    show(job, Reason::no_capacity, obstacles_in_words(job.row.spec, expected(), Asked::ready));
  }

  Behind block(LiveJob& job) {
    show(job, Reason::no_capacity, "waits for others to end");
    std::erase_if(hosts_, [&](const Host& host) {
      return could_use(job.row.spec, turn_.state.agents.at(host.agent));
    });
    return hosts_.empty() || ++looked_past_ == looked_past_max ? Behind::nobody : Behind::some;
  }

  void show(LiveJob& job, Reason reason, const std::string& message) {
    if (job.row.reason == reason && job.row.message == message) return;
    job.row.reason = reason;
    job.row.message = message;
    turn_.save(job);
  }

  Turn& turn_;
  std::vector<Host> hosts_;  // that take tasks and are reserved for nobody, by agent
  std::optional<std::vector<Host>> expected_;
  int looked_past_ = 0;
};

}  // namespace

void place_gangs(Turn& turn) {
  if (std::exchange(turn.state.place_now, false)) Pass(turn).run();
}

void welcome(Turn& turn, const LiveAgent& agent) {
  turn.state.place_now = true;
  for (const JobId& id : turn.state.queue.heads_of_parked()) {
    const Job& job = turn.state.jobs.at(id).row;
    // One that waited for any agent is looked at again, if only to say what this one lacks.
    const bool said_no_agents = job.reason == Reason::no_agents;
    if (said_no_agents || could_use(job.spec, agent)) turn.state.queue.open(job);
  }
}

std::vector<Host> empty_hosts(const State& state, Agents which) {
  std::vector<Host> hosts;
  for (const auto& [id, agent] : state.agents) {
    if (which == Agents::known || is_expected(agent)) {
      hosts.push_back(host_of(agent, which == Agents::known ? Room::whole : Room::when_empty));
    }
  }
  return hosts;
}

std::vector<Host> free_hosts(const State& state) {
  std::vector<Host> hosts;
  for (const auto& [id, agent] : state.agents) {
    if (takes_tasks(agent)) hosts.push_back(host_of(agent, Room::now));
  }
  return hosts;
}

bool could_use(const JobSpec& spec, const LiveAgent& agent) {
  const Host empty = host_of(agent, Room::when_empty);
  return admits(empty, spec) &&
         std::ranges::any_of(gang_of(spec), [&empty](const TaskGroup& group) {
           return count_that_fit(group, empty) > 0;
         });
}

}  // namespace trainyard::scheduler

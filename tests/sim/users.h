// What people do: submit, cancel, suspend, resume, delete, cordon, drain. In the end they let all
// jobs run out.
#pragma once

#include <set>
#include <utility>

#include "scheduler/core/events.h"

namespace trainyard::sim {

class World;

class Users {
 public:
  explicit Users(World& world) : world_(world) {}
  void begin();
  // No more of it; what is suspended is resumed, what is cordoned is uncordoned.
  void stop();

  [[nodiscard]] bool asked_for(const JobId& id, scheduler::JobAction action) const {
    return asked_.contains({id, action});
  }
  [[nodiscard]] bool have_drained(const AgentId& id) const { return drained_.contains(id); }

 private:
  void next();
  void submit();
  void act_on_a_job();
  void act(const JobId& id, scheduler::JobAction action);
  void change_mind(const JobId& id);
  void cordon();
  void let_run_out();
  JobSpec make_spec();

  World& world_;
  bool stopped_ = false;
  std::uint64_t submitted_ = 0;
  std::set<std::pair<JobId, scheduler::JobAction>> asked_;
  std::set<AgentId> drained_;  // ever
};

}  // namespace trainyard::sim

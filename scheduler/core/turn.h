// One step in progress: the state, the moment, and what the step will save and send. Every change
// of state goes through here by saying what to save, so that nothing can be shown that is not
// durable.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/state.h"

namespace trainyard::scheduler {

class Turn {
 public:
  Turn(State& of, const Now& at) : state(of), now(at) {}

  State& state;
  const Now now;

  // The row will be saved, once: a job and an agent as they are at the end of the step, a task as
  // it is now, since its job may have gone on to the next attempt by then.
  void save(const LiveJob& job) { jobs_.insert(job.row.id); }
  void save(const LiveTask& task) { tasks_.insert_or_assign(task.row.key, task.row); }
  void save(const LiveAgent& agent) { agents_.insert(agent.record.id); }
  void add(Change change) { others_.push_back(std::move(change)); }

  // What the agent should have changes: its generation grows, once a step, is saved and is sent.
  void rewant(LiveAgent& agent);
  // The agent is sent what it should have, changed or not.
  void answer(const LiveAgent& agent) { answered_.insert(agent.record.id); }

  // The agent has no task, and is no longer known.
  void forget(const LiveAgent& agent);

  // The report is not taken, and whoever sent it is told why.
  void refuse(const AgentReport& report, Error error) {
    refused_.push_back(
        {report.agent, report.instance, report.epoch, std::move(error.message), error.code});
  }

  // One line of the job's timeline.
  struct Note {
    std::string kind;
    std::string message;
    std::string task = {};
    Reason reason = Reason::none;
    std::optional<JobState> state = {};  // of a transition
  };
  void note(const LiveJob& job, Note note);

  // Everything collected, in an order in which each row follows those it refers to. Jobs that have
  // become terminal are saved a last time and forgotten. Ends the turn.
  Step finish(Outcome outcome);

 private:
  void save_rows(Step& step);
  void send_assignments(Step& step);
  void forget_terminal_jobs();

  std::set<JobId> jobs_;
  std::map<TaskKey, TaskAttempt> tasks_;
  std::set<AgentId> agents_;
  std::set<AgentId> rewanted_;
  std::set<AgentId> answered_;
  std::vector<Refusal> refused_;
  std::vector<Change> others_;
};

}  // namespace trainyard::scheduler

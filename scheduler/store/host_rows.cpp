#include "scheduler/store/host_rows.h"

#include <utility>

#include "schemas/base/log.h"
#include "schemas/wire/report_check.h"
#include "schemas/wire/row_json.h"

namespace trainyard::scheduler {
namespace {

TaskAttempt read_task(Query& query, const JobId& job) {
  TaskAttempt task;
  task.key.job = job;
  task.key.attempt = query.integer();
  task.key.role = query.name(role_from);
  task.key.index = query.integer();
  task.agent = AgentId{query.text()};
  task.host = query.text();
  task.port = query.small_integer();
  task.resources.cpus = query.integer();
  task.resources.memory_mb = query.integer();
  task.resources.gpus = query.integer();
  task.gpus = query.parsed(from_row_json<std::vector<int>>);
  task.state = query.name(task_state_from);
  task.agent_silent = query.boolean();
  task.pid = query.integer();
  if (const auto code = query.optional_integer()) task.exit.code = static_cast<int>(*code);
  if (const auto signal = query.optional_integer()) task.exit.signal = static_cast<int>(*signal);
  task.reason = reason_from(query.text());
  task.message = query.text();
  task.routes = query.text();
  task.rows_port = query.small_integer();
  task.events_end = query.integer();
  task.assigned_at = query.time();
  task.started_at = query.time();
  task.finished_at = query.time();
  return task;
}

}  // namespace

Status save_task(Db& db, const TaskAttempt& task) {
  return db.run(
      "INSERT OR REPLACE INTO tasks (job, attempt, role, task_index, agent, host, port, cpus, "
      "memory_mb, gpu_count, gpu_slots, state, agent_silent, pid, exit_code, exit_signal, reason, "
      "message, routes, rows_port, events_end, assigned_at, started_at, finished_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      task.key.job.text, task.key.attempt, name_of(task.key.role), task.key.index, task.agent.text,
      task.host, task.port, task.resources.cpus, task.resources.memory_mb, task.resources.gpus,
      to_row_json(task.gpus), name_of(task.state), int{task.agent_silent}, task.pid, task.exit.code,
      task.exit.signal, name_of(task.reason), task.message, task.routes, task.rows_port,
      task.events_end, task.assigned_at, task.started_at, task.finished_at);
}

Result<std::vector<TaskAttempt>> read_tasks(Db& db, const JobId& job,
                                            std::optional<std::int64_t> attempt,
                                            const std::optional<TaskKey>& after,
                                            std::int64_t limit) {
  Query query = db.query(
      "SELECT attempt, role, task_index, agent, host, port, cpus, memory_mb, gpu_count, gpu_slots, "
      "state, agent_silent, pid, exit_code, exit_signal, reason, message, routes, "
      "rows_port, events_end, assigned_at, "
      "started_at, finished_at "
      "FROM tasks WHERE job = ?1 AND attempt BETWEEN ?2 AND ?3 "
      "AND (attempt, role, task_index) > (?4, ?5, ?6) "
      "ORDER BY attempt, role, task_index LIMIT ?7",
      job.text, attempt.value_or(0), attempt.value_or(INT64_MAX), after ? after->attempt : -1,
      after ? name_of(after->role) : std::string_view(), after ? after->index : -1, limit);
  std::vector<TaskAttempt> tasks;
  while (query.next()) tasks.push_back(read_task(query, job));
  TRY(query.finish());
  return tasks;
}

Status save_agent(Db& db, const AgentRecord& agent) {
  return db.run(
      "INSERT OR REPLACE INTO agents (id, host, instance, epoch, generation, cordoned, state, "
      "registered_at, state_since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      agent.id.text, to_row_json(agent.host), agent.instance, agent.epoch, agent.generation,
      int{agent.cordoned}, name_of(agent.state), agent.registered_at, agent.state_since);
}

Status remove_agent(Db& db, const AgentId& agent) {
  return db.run("DELETE FROM agents WHERE id = ?", agent.text);
}

Result<std::vector<AgentRecord>> read_agents(Db& db) {
  Query query = db.query(
      "SELECT id, host, instance, epoch, generation, cordoned, state, registered_at, state_since "
      "FROM agents ORDER BY id");
  std::vector<AgentRecord> agents;
  while (query.next()) {
    AgentRecord& agent = agents.emplace_back();
    agent.id = AgentId{query.text()};
    agent.host = query.parsed(from_row_json<HostInfo>);
    agent.instance = query.text();
    agent.epoch = query.integer();
    agent.generation = query.integer();
    agent.cordoned = query.boolean();
    agent.state = query.name(agent_state_from);
    agent.registered_at = query.time();
    agent.state_since = query.time();
    // Of a version that believed more. It counts for nothing until its agent starts anew and tells.
    if (const Status sound = check_host(agent.host); !sound) {
      log_warning("agent_row_ignored",
                  {{"agent", agent.id.text}, {"error", sound.error().message}});
      agent.host = {.address = "unknown",
                    .capacity = {},
                    .gpus = {},
                    .first_port = 1,
                    .last_port = 1,
                    .labels = {},
                    .agent_version = ""};
    }
  }
  TRY(query.finish());
  return agents;
}

}  // namespace trainyard::scheduler

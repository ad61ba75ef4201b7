// The role ps: builds its share, serves it, writes its shards.
#include "runtime/role/serve.h"

namespace trainyard::runtime {

Result<TaskEnd> run_ps(const Task& task) {
  const TaskContext& context = task.context;
  TRY(task.phase(PhaseEvent::Phase::starting));
  TRY_ASSIGN(const DataFacts data, task.cause.of(Reason::bad_data, read_facts(context.spec)));
  TRY_ASSIGN(const JobPlan plan, task.cause.of(Reason::bad_data, plan_job(context.spec, data, 1)));
  const auto index = static_cast<std::size_t>(context.key.index);
  TRY_ASSIGN(const auto server, open_share(task, plan, index));
  TRY(task.phase(PhaseEvent::Phase::running));
  TRY_ASSIGN(const PsServer::Ended ended,
             task.cause.of(Reason::peer_lost, server->serve(task.stop)));
  TRY(task.phase(PhaseEvent::Phase::finishing));
  return ended == PsServer::Ended::finished ? TaskEnd::completed : TaskEnd::stopped;
}

}  // namespace trainyard::runtime

// The role ps: builds its share, serves it, writes its shards.
#include <utility>

#include "runtime/net/ps_server.h"
#include "runtime/role/checkpoint_files.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/task.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {

Result<TaskEnd> run_ps(const Task& task) {
  const TaskContext& context = task.context;
  TRY(task.phase(PhaseEvent::Phase::starting));
  TRY_ASSIGN(const DataFacts data, task.cause.of(Reason::bad_data, read_facts(context.spec)));
  TRY_ASSIGN(const JobPlan plan, task.cause.of(Reason::bad_data, plan_job(context.spec, data, 1)));
  const auto index = static_cast<std::size_t>(context.key.index);
  TRY_ASSIGN(StartingShare share,
             task.cause.of(Reason::checkpoint_lost, starting_share(context, plan, index)));
  const std::int64_t version = share.start.version;
  // A worker reads or draws its data before it calls: that may take as long as the job allows.
  const auto first_caller_limit =
      std::chrono::seconds(context.spec.run_policy.no_progress_timeout_seconds);

  TRY_ASSIGN(const auto server,
             task.cause.of(Reason::start_failed,
                           PsServer::start({.listen = context.listen,
                                            .token = context.token,
                                            .first_caller_limit = first_caller_limit},
                                           {.rules = plan.rules(context.spec),
                                            .share = plan.shares[index],
                                            .shard = std::move(share.shard),
                                            .start = std::move(share.start),
                                            .files = shard_files(task, plan, index)})));
  log_info("ps serves", {{"listen", context.listen},
                         {"port", server->port()},
                         {"elements", plan.shares[index].elements()},
                         {"version", version}});
  TRY(task.phase(PhaseEvent::Phase::running));
  TRY_ASSIGN(const PsServer::Ended ended,
             task.cause.of(Reason::peer_lost, server->serve(task.stop)));
  TRY(task.phase(PhaseEvent::Phase::finishing));
  return ended == PsServer::Ended::finished ? TaskEnd::completed : TaskEnd::stopped;
}

}  // namespace trainyard::runtime

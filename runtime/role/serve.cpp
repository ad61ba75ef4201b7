#include "runtime/role/serve.h"

#include <utility>

#include "runtime/role/checkpoint_files.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {

Result<std::unique_ptr<PsServer>> open_share(const Task& task, const JobPlan& plan,
                                             std::size_t index) {
  const TaskContext& context = task.context;
  TRY_ASSIGN(StartingShare share,
             task.cause.of(Reason::checkpoint_lost, starting_share(context, plan, index)));
  const std::int64_t version = share.start.version;
  // A worker reads or draws its data before it calls: that may take as long as the job allows.
  const auto first_caller_limit =
      std::chrono::seconds(context.spec.run_policy.no_progress_timeout_seconds);
  TRY_ASSIGN(auto server,
             task.cause.of(Reason::start_failed,
                           PsServer::start({.listen = context.listen,
                                            .token = context.token,
                                            .first_caller_limit = first_caller_limit},
                                           {.rules = plan.rules(context.spec),
                                            .share = plan.shares[index],
                                            .arena_elements = plan.model.arena_elements(),
                                            .shard = std::move(share.shard),
                                            .start = std::move(share.start),
                                            .files = shard_files(task, plan, index),
                                            .rows = std::move(share.rows)})));
  log_info("ps serves", {{"listen", context.listen},
                         {"port", server->port()},
                         {"elements", plan.shares[index].elements()},
                         {"version", version}});
  return server;
}

std::vector<std::string> share_addresses(const TaskContext& context) {
  const ClusterSpec& cluster = context.cluster;
  if (context.spec.training.strategy != Strategy::all_reduce) return cluster.ps;
  std::vector<std::string> addresses = cluster.chief;  // in order of training_rank()
  addresses.insert(addresses.end(), cluster.worker.begin(), cluster.worker.end());
  return addresses;
}

}  // namespace trainyard::runtime

#include "runtime/role/worker_params.h"

#include <chrono>
#include <string>
#include <utility>

#include "runtime/core/arena_layout.h"
#include "runtime/net/local_params.h"
#include "runtime/net/remote_params.h"
#include "runtime/role/checkpoint_files.h"
#include "runtime/role/final_tail.h"
#include "runtime/role/heir.h"
#include "runtime/role/serve.h"
#include "runtime/role/transport_setting.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

Result<std::unique_ptr<ParamsChannel>> local_params(const Task& task, const JobPlan& plan) {
  TRY_ASSIGN(StartingShare share, with_cause(starting_share(task.context, plan, 0), task.cause));
  return std::unique_ptr<ParamsChannel>(std::make_unique<LocalParams>(
      plan.rules(task.context.spec, 0), std::move(share.shard), std::move(share.start),
      shard_files(task, plan, 0), std::move(share.rows)));
}

// Where a ps waits for workers that it misses. Else it has given up one that was cut off.
std::chrono::seconds reconnect_limit(const TaskContext& context) {
  return std::chrono::seconds(comes_back(context, Role::worker) ? 10 : 0);
}

Result<std::unique_ptr<ParamsChannel>> remote_params(const Task& task, const JobPlan& plan) {
  const TaskContext& context = task.context;
  const std::int64_t rank = training_rank(context);
  const auto limit = std::chrono::seconds(context.spec.run_policy.no_progress_timeout_seconds);
  const std::vector<std::string> addresses = share_addresses(context);
  TRY_ASSIGN(const auto transport, allowed_transport());
  TRY_ASSIGN(
      std::unique_ptr<RemoteParams> params,
      task.cause.of(Reason::peer_lost,
                    RemoteParams::connect(
                        {.ps = addresses,
                         .token = context.token,
                         .rank = rank,
                         .arena_elements = plan.model.arena_elements(),
                         .shares = plan.shares,
                         .parts = std::ssize(own_nodes(task, plan)),
                         .wire = plan.wire,
                         .first_leaf = own_leaves(task, plan).begin,
                         .gaps = gaps_of(plan.model.variables(), plan.model.arena_elements()),
                         .row_width = plan.model.rows().width(),
                         .cuts = FinalTail::cuts(plan.model.variables()),
                         .summed_early = step_mode(context.spec) == Mode::sync,
                         .parameters_follow = true,
                         .backup_workers = plan.has_backups(),
                         .ps_return = comes_back(context, Role::ps),
                         .reconnect_limit = reconnect_limit(context),
                         .connect_limit = limit,
                         .exchange_limit = limit,
                         .transport = transport,
                         .stop = task.stop})));
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    log_info("connected", {{"ps", addresses[i]},
                           {"transport", params->transports()[i]},
                           {"elements", plan.shares[i].elements()}});
  }
  return std::unique_ptr<ParamsChannel>(std::move(params));
}

}  // namespace

std::vector<Leaves> own_nodes(const Task& task, const JobPlan& plan) {
  return nodes_of_rank(task.context.spec, plan, training_rank(task.context));
}

Leaves own_leaves(const Task& task, const JobPlan& plan) {
  return leaves_of_rank(task.context.spec, plan, training_rank(task.context));
}

Result<std::unique_ptr<ParamsChannel>> open_params(const Task& task, const JobPlan& plan) {
  const bool local = task.context.spec.training.strategy == Strategy::local;
  return local ? local_params(task, plan) : remote_params(task, plan);
}

}  // namespace trainyard::runtime

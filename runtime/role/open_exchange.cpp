#include "runtime/role/open_exchange.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/core/arena_layout.h"
#include "runtime/core/schedule.h"
#include "runtime/role/checkpoint_files.h"
#include "runtime/role/local_exchange.h"
#include "runtime/role/remote_exchange.h"
#include "runtime/role/serve.h"
#include "runtime/role/transport_setting.h"

namespace trainyard::runtime {
namespace {

// Parameters live where they are computed with, if they can. Null: they do not.
std::unique_ptr<ResidentParameters> resident_of(JobPlan& plan, const ExchangeSetting& setting,
                                                const StartingShare& share) {
  std::vector<Model*> models{&plan.model};
  for (Model& other : setting.others) models.push_back(&other);
  const Leaves leaves = plan.leaves_of_rank(0);
  if (std::ssize(models) > leaves.count()) return nullptr;  // which is an error that is told later
  return ResidentParameters::open(models, leaves, share.weights.span(), share.slots);
}

Result<std::unique_ptr<StepExchange>> local_exchange(const Task& task, JobPlan& plan,
                                                     const ExchangeSetting& setting) {
  TRY_ASSIGN(StartingShare share, with_cause(starting_share(task.context, plan, 0), task.cause));
  const auto rate = [&optimizer = task.context.spec.training.optimizer,
                     max_steps = plan.max_steps](std::int64_t version) {
    return learning_rate_at(optimizer, version, max_steps);
  };
  std::optional<RowStore> rows;
  if (share.rows) {
    rows.emplace(row_rules(task.context, plan), RowStore::Start{.version = share.version},
                 *std::move(share.rows));
  }
  auto resident = resident_of(plan, setting, share);
  return std::unique_ptr<StepExchange>(
      std::make_unique<LocalExchange>(LocalExchange::Rules{.optimizer = plan.optimizer,
                                                           .update = plan.update,
                                                           .state_begin = plan.state_begin,
                                                           .max_steps = plan.max_steps,
                                                           .mean_over = plan.mean_over,
                                                           .clip_norm = plan.clip_norm,
                                                           .gradient_scale = plan.gradient_scale(),
                                                           .learning_rate_at = rate,
                                                           .threads = plan.model.threads()},
                                      LocalExchange::Start{.version = share.version,
                                                           .weights = std::move(share.weights),
                                                           .slots = std::move(share.slots),
                                                           .resident = std::move(resident),
                                                           .computed_on = share.computed_on},
                                      std::move(rows), shard_files(task, plan, 0)));
}

RemoteExchange::Rule rule_of(const JobPlan& plan) {
  if (plan.has_backups()) return RemoteExchange::Rule::backup;
  const bool is_sync = plan.mode == Mode::sync;
  return is_sync ? RemoteExchange::Rule::sync : RemoteExchange::Rule::async;
}

// Devices round the gradients that they compute, unless somebody else needs them exact, and take
// rounded parameters: half as much comes and goes, and that as it is sent.
bool convert_bfloat16(JobPlan& plan, const ExchangeSetting& setting) {
  const auto converts = [](Model& model) { return model.converts_bfloat16(); };
  return converts(plan.model) && std::ranges::all_of(setting.others, converts);
}

Result<std::unique_ptr<StepExchange>> remote_exchange(const Task& task, JobPlan& plan,
                                                      const ExchangeSetting& setting) {
  const TaskContext& context = task.context;
  const std::int64_t rank = training_rank(context);
  TRY_ASSIGN(const auto transport, allowed_transport());
  const std::vector<std::string> servers = share_addresses(context);
  const auto holders = std::ssize(servers);
  std::optional<StepMembers> backups;
  const bool rounds = plan.push == Wire::bfloat16 && !plan.clips_pushes();
  const bool takes_rounded = plan.pull == Wire::bfloat16;
  const bool converts = (rounds || takes_rounded) && convert_bfloat16(plan, setting);
  if (plan.has_backups()) backups = {.ranks = plan.ranks, .aggregate = plan.aggregate};
  TRY_ASSIGN(
      auto link,
      task.cause.of(
          Reason::start_failed,
          WorkerLink::open(
              {.servers = servers,
               .tries_local = transport != Transport::tcp,
               .token = context.token,
               .rank = rank,
               .plan = plan.hash(),
               .fingerprint = setting.fingerprint,
               .arenas = {.chunks = plan.chunks(),
                          .holders = holders,
                          .parts = std::ssize(plan.nodes_of_rank(rank)),
                          .push = plan.push,
                          .pull = plan.pull,
                          .shares = transport == Transport::shared_memory,
                          .gaps = gaps_of(plan.model.variables(), plan.model.arena_elements()),
                          .state_begin = plan.state_begin,
                          .come_rounded = rounds && converts,
                          .stay_rounded = takes_rounded && converts},
               .mode = plan.mode,
               .max_steps = plan.max_steps,
               .asks_ahead = !context.spec.training.max_staleness,
               .backups = backups,
               .clips = plan.clipping() != ParameterServer::Rules::Clipping::none,
               .limit = std::chrono::seconds(context.spec.run_policy.no_progress_timeout_seconds),
               .stop = task.stop})));
  return std::unique_ptr<StepExchange>(std::make_unique<RemoteExchange>(
      std::move(link), rule_of(plan),
      RemoteExchange::Rows{
          .servers = servers,
          .token = context.token,
          .rank = rank,
          .widths = RowWidths(plan.model.rows()),
          .limit = std::chrono::seconds(context.spec.run_policy.no_progress_timeout_seconds)}));
}

}  // namespace

Result<std::unique_ptr<StepExchange>> open_exchange(const Task& task, JobPlan& plan,
                                                    const ExchangeSetting& setting) {
  const bool local = task.context.spec.training.strategy == Strategy::local;
  return local ? local_exchange(task, plan, setting) : remote_exchange(task, plan, setting);
}

}  // namespace trainyard::runtime

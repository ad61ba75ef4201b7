// What a ps goes on from that was started again in the folder of its earlier process.
#include <optional>
#include <utility>
#include <vector>

#include "runtime/files/event_log.h"
#include "runtime/files/shard_file.h"
#include "runtime/role/job_plan.h"
#include "schemas/base/check.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

Result<StartingShare> share_of(const TaskContext& context, const JobPlan& plan, std::size_t index,
                               const ShardEvent& shard) {
  TRY_ASSIGN(RestoredShare restored, restore_share({.folder = context.folder,
                                                    .files = {&shard.file, 1},
                                                    .variables = plan.model.variables(),
                                                    .share = plan.shares.at(index),
                                                    .slot_names = plan.slot_names}));
  return StartingShare{
      .shard =
          ParameterShard(plan.optimizer, std::move(restored.weights), std::move(restored.slots)),
      .start = {
          .version = shard.version, .rank_steps = shard.rank_steps, .lost = shard.lost_updates}};
}

}  // namespace

// A shard is announced once it is durable under its name, with its hash: none is half written. The
// agent deletes old ones.
Result<StartingShare> returned_share(const TaskContext& context, const JobPlan& plan,
                                     std::size_t index) {
  TRY_ASSIGN(std::vector<std::int64_t> first_steps, starting_steps(context, plan));
  std::optional<StartingShare> found;
  const std::vector<ShardEvent> told = shards_told(context.folder);
  for (auto shard = told.rbegin(); shard != told.rend() && !found; ++shard) {
    auto share = share_of(context, plan, index, *shard);
    if (!share.has_value()) {
      log_warning("a shard of its own is of no use",
                  {{"step", shard->step}, {"message", share.error().message}});
      continue;
    }
    log_info("goes on from its own shard", {{"step", shard->step}, {"version", shard->version}});
    found = *std::move(share);
  }
  if (!found) {
    TRY_ASSIGN(found, starting_share(context, plan, index));
  }
  ENSURE(!found->rows);  // comes_back() says so
  found->start.rank_steps.resize(first_steps.size());
  found->start.first_steps = std::move(first_steps);
  return *std::move(found);
}

}  // namespace trainyard::runtime

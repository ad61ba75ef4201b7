#include "runtime/role/serve.h"

#include <utility>

#include "runtime/core/schedule.h"
#include "runtime/core/staleness.h"
#include "runtime/role/checkpoint_files.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

// A connection that is cut is made again at once; of a process that is started again the peers hear
// later.
constexpr Millis reconnect_limit = seconds(10);
constexpr Millis no_worker_limit = seconds(30);
// In async the last step may be made before a slow starter has connected.
constexpr Millis late_worker_limit = seconds(60);

Attendance::Limits limits_of(const TaskContext& context) {
  // A worker reads or draws its data before it calls: that may take as long as the job allows.
  const Millis patience = seconds(context.spec.run_policy.no_progress_timeout_seconds);
  const bool waits = comes_back(context, Role::worker);
  return {.first_worker = patience,
          .no_worker = no_worker_limit,
          .return_of_one = waits ? patience : reconnect_limit,
          .late_worker = late_worker_limit};
}

ChunkStore::Rules store_rules(const JobPlan& plan, std::size_t index) {
  ChunkStore::Rules rules{.chunks = {},
                          .arena_elements = plan.model.arena_elements(),
                          .push = plan.push,
                          .pull = plan.pull,
                          .exact_from = plan.max_steps,
                          .optimizer = plan.optimizer,
                          .nodes = {},
                          .leaves = plan.mode == Mode::sync ? plan.leaves : 1,
                          .mode = plan.mode};
  for (const ArenaChunk& chunk : plan.chunks()) {
    if (chunk.holder == static_cast<std::int64_t>(index)) rules.chunks.push_back(chunk.range);
  }
  for (std::int64_t rank = 0; rank < plan.ranks; ++rank) {
    rules.nodes.push_back(plan.mode == Mode::sync ? plan.nodes_of_rank(rank)
                                                  : std::vector<Leaves>{{0, 1}});
  }
  return rules;
}

auto step_rule(const TaskContext& context, const JobPlan& plan) {
  return [&training = context.spec.training, max_steps = plan.max_steps,
          scale = plan.gradient_scale()](std::int64_t version, std::int64_t staleness) {
    return ChunkStore::Step{
        .learning_rate = learning_rate_at(training.optimizer, version, max_steps) *
                         staleness_factor(training.staleness_scaling, staleness),
        .gradient_scale = scale};
  };
}

// At the address of the task, and for those on its host.
Result<std::vector<StreamSocket>> listen(const TaskContext& context, std::size_t index) {
  std::vector<StreamSocket> listeners;
  TRY_ASSIGN(StreamSocket tcp, StreamSocket::listen_tcp(context.listen, port_of(context.listen)));
  auto local = StreamSocket::listen_unix(chunk_socket_name(context.token, index, tcp.port()));
  listeners.push_back(std::move(tcp));
  if (local.has_value()) {
    listeners.push_back(*std::move(local));
  } else {
    log_warning("no Unix socket", {{"message", local.error().message}});
  }
  return listeners;
}

}  // namespace

Result<std::unique_ptr<ChunkServer>> open_share(const Task& task, const JobPlan& plan,
                                                std::size_t index) {
  const TaskContext& context = task.context;
  TRY_ASSIGN(StartingShare share, with_cause(starting_share(context, plan, index), task.cause));
  auto listeners = listen(context, index);
  const bool is_taken = !listeners.has_value() && listeners.error().code == Code::conflict;
  TRY_ASSIGN(auto heard, task.cause.of(is_taken ? Reason::port_in_use : Reason::start_failed,
                                       std::move(listeners)));
  std::optional<PushTurns::Rules> turns;
  if (plan.mode == Mode::async && index == 0) {
    turns = {.pushes = plan.max_steps - share.version,
             .max_staleness = context.spec.training.max_staleness};
  }
  share.rank_steps.resize(static_cast<std::size_t>(plan.ranks));
  ChunkStore store(store_rules(plan, index), share.weights, share.slots);
  store.restore_residuals(share.residuals);
  const std::int64_t chunks = store.chunks();
  TRY_ASSIGN(auto server, task.cause.of(Reason::start_failed,
                                        ChunkServer::start(
                                            std::move(heard),
                                            {.token = context.token,
                                             .plan = plan.hash(),
                                             .rules = {.mode = plan.mode,
                                                       .ranks = plan.ranks,
                                                       .chunks = chunks,
                                                       .has_residuals = plan.push == Wire::onebit},
                                             .start = {.version = share.version,
                                                       .rank_steps = std::move(share.rank_steps)},
                                             .turns = turns,
                                             .last_step = plan.max_steps,
                                             .step_at = step_rule(context, plan),
                                             .files = shard_files(task, plan, index),
                                             .limits = limits_of(context)},
                                            std::move(store))));
  log_info("ps serves", {{"listen", context.listen},
                         {"port", server->port()},
                         {"elements", plan.shares[index].elements()},
                         {"version", share.version}});
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

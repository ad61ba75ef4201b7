#include "runtime/role/serve.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "runtime/net/channel_options.h"
#include "runtime/net/wire_format.h"
#include "runtime/role/checkpoint_files.h"
#include "runtime/role/heir.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

// While a ps of a sync job updates, its workers wait: what they compute on is free where they are
// on its host. In async, and where workers update their own shares, it is not.
void share_out(ParameterShard& shard, const JobSpec& spec) {
  constexpr std::int64_t kElementsMin = 1 << 20;
  constexpr unsigned kThreadsMax = 4;  // memory's speed is reached with fewer
  const bool workers_wait =
      step_mode(spec) == Mode::sync && spec.training.strategy == Strategy::parameter_server;
  if (!workers_wait || shard.elements() < kElementsMin) return;
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, kThreadsMax);
  shard.share_out(std::make_unique<ThreadTeam>(static_cast<int>(threads)));
}

// An heir gives a rank's gradients in one message, whatever the transport.
bool fits_message(const JobSpec& spec, const JobPlan& plan, const Share& share) {
  std::int64_t parts = 0;
  for (std::int64_t rank = 0; rank < plan.ranks; ++rank) {
    parts = std::max<std::int64_t>(parts, std::ssize(nodes_of_rank(spec, plan, rank)));
  }
  return parts * gradient_bytes(plan.wire, share) <= message_tensor_bytes_max;
}

}  // namespace

bool is_started_again(const Task& task) {
  const bool is_ps = task.context.key.role == Role::ps;
  return is_ps && task.events.goes_on() && comes_back(task.context, Role::ps);
}

Result<std::unique_ptr<PsServer>> open_share(const Task& task, const JobPlan& plan,
                                             std::size_t index) {
  const TaskContext& context = task.context;
  const bool is_back = is_started_again(task);
  TRY_ASSIGN(StartingShare share, with_cause(is_back ? returned_share(context, plan, index)
                                                     : starting_share(context, plan, index),
                                             task.cause));
  const std::int64_t version = share.start.version;
  share_out(share.shard, context.spec);
  // A worker reads or draws its data before it calls: that may take as long as the job allows.
  const auto first_caller_limit =
      std::chrono::seconds(context.spec.run_policy.no_progress_timeout_seconds);
  // The agent starts a worker again that died, and the server ends the gang where that is no use.
  const bool waits = comes_back(context, Role::worker);
  // Of a worker that had gone home a ps that is back never hears, and where other ps were lost too
  // nobody may know that training is over: it goes on without before the server finds that the job
  // does not.
  const auto return_limit = is_back ? first_caller_limit / 2
                            : waits ? first_caller_limit
                                    : std::chrono::seconds(0);
  Aggregator::Rules rules = plan.rules(context.spec, index);
  rules.gives_turns = index == 0;
  // Rows are updated in place: of a table there is no version before. With backup workers nobody is
  // waited for, and every ps has what made the newest of another.
  rules.names_heirs = waits && rules.gate.mode == Mode::sync && !plan.has_backups() &&
                      plan.model.rows().width() == 0 &&
                      fits_message(context.spec, plan, plan.shares[index]);
  rules.keeps_previous = rules.names_heirs && plan.shares.size() > 1;
  auto started = PsServer::start({.listen = context.listen,
                                  .stream_port = context.stream_port,
                                  .token = context.token,
                                  .first_caller_limit = first_caller_limit,
                                  .return_limit = return_limit},
                                 {.rules = std::move(rules),
                                  .share = plan.shares[index],
                                  .arena_elements = plan.model.arena_elements(),
                                  .shard = std::move(share.shard),
                                  .start = std::move(share.start),
                                  .files = shard_files(task, plan, index),
                                  .rows = std::move(share.rows)});
  const bool is_taken = !started.has_value() && started.error().code == Code::conflict;
  TRY_ASSIGN(auto server, task.cause.of(is_taken ? Reason::port_in_use : Reason::start_failed,
                                        std::move(started)));
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

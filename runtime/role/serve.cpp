#include "runtime/role/serve.h"

#include <utility>

#include "runtime/core/schedule.h"
#include "runtime/core/staleness.h"
#include "runtime/graph/device_share.h"
#include "runtime/net/waiting.h"
#include "runtime/role/checkpoint_files.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

// A connection that is cut is made again at once; of a process that is started again the peers hear
// later.
constexpr Millis reconnect_limit = seconds(return_limit.count());
constexpr Millis no_worker_limit = seconds(30);
// In async the last step may be made before a slow starter has connected.
constexpr Millis late_worker_limit = seconds(60);

Attendance::Limits limits_of(const TaskContext& context) {
  // A worker reads or draws its data before it calls: that may take as long as the job allows.
  const Millis patience = seconds(context.spec.run_policy.no_progress_timeout_seconds);
  const bool waits = workers_come_back(context);
  return {.first_worker = patience,
          .no_worker = no_worker_limit,
          .return_of_one = waits || has_backup_workers(context.spec) ? patience : reconnect_limit,
          .late_worker = late_worker_limit};
}

ChunkStore::Rules store_rules(const JobPlan& plan, std::size_t index, std::int64_t version) {
  const std::int64_t aggregate = plan.has_backups() ? plan.aggregate : 0;
  ChunkStore::Rules rules{.chunks = {},
                          .arena_elements = plan.model.arena_elements(),
                          .holders = std::ssize(plan.shares),
                          .push = plan.push,
                          .pull = plan.pull,
                          .state_begin = plan.state_begin,
                          .exact_from = plan.max_steps,
                          .optimizer = plan.optimizer,
                          .update = plan.update,
                          .mean_over = plan.mean_over,
                          .clip_norm = plan.mode == Mode::sync ? plan.clip_norm : 0,
                          .nodes = {},
                          .leaves = plan.mode == Mode::sync ? plan.leaves : 1,
                          .mode = plan.mode,
                          .aggregate = aggregate,
                          .version = version};
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
    return ChunkStore::UpdateScale{
        .learning_rate = learning_rate_at(training.optimizer, version, max_steps) *
                         staleness_factor(training.staleness_scaling, staleness),
        .gradient_scale = scale};
  };
}

// At the address of the task, and for those on its host: they would not find the Unix socket if it
// came after the one that they try second.
Result<std::vector<StreamSocket>> listen(const TaskContext& context, std::size_t index) {
  std::vector<StreamSocket> listeners;
  TRY_ASSIGN(StreamSocket tcp, StreamSocket::bind_tcp(context.listen, port_of(context.listen)));
  auto local = StreamSocket::listen_unix(chunk_socket_name(context.token, index, tcp.port()));
  TRY(tcp.start_listening());
  listeners.push_back(std::move(tcp));
  if (local.has_value()) {
    listeners.push_back(*std::move(local));
  } else {
    log_warning("no Unix socket", {{"message", local.error().message}});
  }
  return listeners;
}

template <class T>
Result<T> with_port_cause(Result<T> result, FailureCause& cause) {
  const bool is_taken = !result.has_value() && result.error().code == Code::conflict;
  return cause.of(is_taken ? Reason::port_in_use : Reason::start_failed, std::move(result));
}

struct RowsPlace {
  std::size_t index = 0;  // of the share
  int chunks_port = 0;
  StartingShare& share;
  RowShelf& shelf;
};

Result<std::unique_ptr<RowServer>> open_rows(const TaskContext& context, const JobPlan& plan,
                                             RowsPlace place) {
  const std::string host = context.listen.substr(0, context.listen.rfind(':') + 1);
  RowStore store(row_rules(context, plan),
                 {.version = place.share.version, .rank_steps = place.share.rank_steps},
                 *std::move(place.share.rows));
  return RowServer::start(
      {.listen = host + std::to_string(context.rows_port),
       .local_socket = rows_socket_name(context.token, place.index, place.chunks_port),
       .token = context.token,
       .on_snapshot = [&shelf = place.shelf](
                          std::int64_t snapshot,
                          RowTables tables) { shelf.put(snapshot, std::move(tables)); }},
      std::move(store));
}

// Nothing marks the last version, of which nothing changes any more.
RowsOf rows_of(ServedShare& served, const JobPlan& plan) {
  if (!served.rows) return nullptr;
  return [&served, last = plan.max_steps](std::int64_t snapshot) -> Result<RowTables> {
    if (snapshot == last) return served.rows->copy();
    return served.shelf.take(snapshot);
  };
}

// State is changed by sums that are the host's, and lies behind all else.
std::size_t optimized_elements(const StoreLayout& layout) {
  std::int64_t elements = 0;
  for (std::int64_t chunk = 0; chunk < layout.chunks(); ++chunk) {
    if (!layout.is_state(chunk)) elements = layout.place_of(chunk).end;
  }
  return index_of(elements);
}

// False: the device has too little memory.
bool reside(ChunkStore& store, const StartingShare& share, UpdatePlace& place) {
  const StoreRules& rules = store.layout().rules();
  const std::size_t elements = optimized_elements(store.layout());
  if (place.device == nullptr || elements == 0) return true;
  const std::string name = place.device->name();
  auto resident = DeviceShare::open(std::move(place.device),
                                    {.update = rules.update,
                                     .optimizer = rules.optimizer,
                                     .part_max = store.layout().largest_chunk(),
                                     .spare_bytes = place.spare_bytes},
                                    share.weights.span().first(elements), share.slots);
  if (resident == nullptr) return false;
  log_info("the share is updated on a GPU", {{"name", name}, {"elements", elements}});
  store.reside(std::move(resident));
  return true;
}

}  // namespace

RowStore::Rules row_rules(const TaskContext& context, const JobPlan& plan) {
  RowStore::Rules rules{
      .mode = plan.mode, .nodes = {}, .leaves = plan.mode == Mode::sync ? plan.leaves : 1};
  const bool is_tree = plan.mode == Mode::sync && !plan.has_backups();
  if (plan.has_backups()) rules.made_of = RowStore::MadeOf::named_ranks;
  for (std::int64_t rank = 0; rank < plan.ranks; ++rank) {
    rules.nodes.push_back(is_tree ? plan.nodes_of_rank(rank) : std::vector<Leaves>{{0, 1}});
  }
  rules.step_at = [rule = step_rule(context, plan)](std::int64_t version) {
    const ChunkStore::UpdateScale step = rule(version, 0);
    return RowStore::Step{.learning_rate = step.learning_rate,
                          .gradient_scale = step.gradient_scale};
  };
  return rules;
}

Result<std::unique_ptr<ServedShare>> open_share(const Task& task, const JobPlan& plan,
                                                std::size_t index, UpdatePlace place) {
  const TaskContext& context = task.context;
  TRY_ASSIGN(StartingShare share, with_cause(starting_share(context, plan, index), task.cause));
  share.rank_steps.resize(static_cast<std::size_t>(plan.ranks));
  auto served = std::make_unique<ServedShare>();
  TRY_ASSIGN(auto listeners, with_port_cause(listen(context, index), task.cause));
  if (share.rows) {
    TRY_ASSIGN(served->rows,
               with_port_cause(open_rows(context, plan,
                                         {index, listeners.front().port(), share, served->shelf}),
                               task.cause));
  }
  std::optional<PushTurns::Rules> turns;
  if (plan.mode == Mode::async && index == 0) {
    turns = {.pushes = plan.max_steps - share.version,
             .max_staleness = context.spec.training.max_staleness};
  }
  ChunkStore store(store_rules(plan, index, share.version), share.weights, share.slots);
  store.restore_residuals(share.residuals);
  served->lacks_memory = !reside(store, share, place);
  const std::int64_t chunks = store.chunks();
  ChunkServer::Options options{
      .token = context.token,
      .plan = plan.hash(),
      .rules = {.mode = plan.mode,
                .ranks = plan.ranks,
                .chunks = chunks,
                .has_residuals = store.has_residuals(),
                .aggregate = plan.has_backups() ? plan.aggregate : 0,
                .clipping = plan.clipping()},
      .start = {.version = share.version, .rank_steps = std::move(share.rank_steps)},
      .turns = turns,
      .last_step = plan.max_steps,
      .step_at = step_rule(context, plan),
      .files = shard_files(task, plan, index, rows_of(*served, plan)),
      .limits = limits_of(context)};
  options.computed_on = std::move(share.computed_on);
  options.on_failed = std::move(place.on_failed);
  options.names_steps = plan.has_backups() && index == 0;
  if (served->rows) {
    options.on_named = [rows = served->rows.get()](const NamedStep& named) {
      const bool is_saved = named.snapshot == named.step;  // else an earlier one is
      return rows->apply(
          {.step = named.step, .ranks = named.ranks, .snapshot = is_saved ? named.snapshot : 0});
    };
    options.rows_port = served->rows->port();
    options.on_ended = [rows = served->rows.get()](std::int64_t rank, std::int64_t snapshot) {
      rows->end_rank(rank, snapshot);
    };
  }
  TRY_ASSIGN(served->chunks,
             task.cause.of(
                 Reason::start_failed,
                 ChunkServer::start(std::move(listeners), std::move(options), std::move(store))));
  log_info("ps serves", {{"listen", context.listen},
                         {"port", served->chunks->port()},
                         {"elements", plan.shares[index].elements()},
                         {"version", share.version}});
  return served;
}

std::vector<std::string> share_addresses(const TaskContext& context) {
  const ClusterSpec& cluster = context.cluster;
  if (context.spec.training.strategy != Strategy::all_reduce) return cluster.ps;
  std::vector<std::string> addresses = cluster.chief;  // in order of training_rank()
  addresses.insert(addresses.end(), cluster.worker.begin(), cluster.worker.end());
  return addresses;
}

}  // namespace trainyard::runtime

#include "runtime/net/chunks/worker_link.h"

#include <algorithm>
#include <utility>

#include "runtime/math/wire/bfloat16.h"
#include "runtime/net/waiting.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

// Of gradients that the thread that computes sends itself.
constexpr std::size_t little_bytes = 1 << 20;
// A ps that is gone already releases nobody.
constexpr std::chrono::seconds release_limit{10};

LinkState::Rules state_rules(const WorkerLink::Options& options) {
  return {.servers = options.servers,
          .exchange = {.rank = options.rank,
                       .servers = std::ssize(options.servers),
                       .mode = options.mode,
                       .max_steps = options.max_steps,
                       .asks_ahead = options.asks_ahead,
                       .backups = options.backups,
                       .gathers_norms = options.clips && options.rank == 0},
          .limits = {.silence = options.limit, .absence = return_limit},
          .stop = options.stop};
}

std::vector<Connector::Target> targets_of(const WorkerLink::Options& options) {
  std::vector<Connector::Target> targets;
  for (std::size_t ps = 0; ps < options.servers.size(); ++ps) {
    const std::string& address = options.servers[ps];
    targets.push_back({.local = options.tries_local
                                    ? chunk_socket_name(options.token, ps, port_of(address))
                                    : std::string(),
                       .address = address});
  }
  return targets;
}

WorkerArenas::Rules arena_rules(const WorkerLink::Options& options) {
  WorkerArenas::Rules rules = options.arenas;
  rules.versions = versions_kept(options.mode, options.backups.has_value());
  return rules;
}

}  // namespace

Result<std::unique_ptr<WorkerLink>> WorkerLink::open(const Options& options) {
  ENSURE(std::ssize(options.servers) == options.arenas.holders);
  TRY_ASSIGN(FramePoll poll, FramePoll::open(FramePoll::Reports::once));
  return std::unique_ptr<WorkerLink>(new WorkerLink(options, std::move(poll)));
}

WorkerLink::WorkerLink(const Options& options, FramePoll poll)
    : arenas_(arena_rules(options)),
      state_(state_rules(options), arenas_),
      frames_({.rank = options.rank,
               .plan = options.plan,
               .token = options.token,
               .fingerprint = options.fingerprint},
              arenas_, state_),
      parameters_(arenas_.parameters(0)),
      connections_(std::move(poll), targets_of(options), state_, frames_),
      chief_(state_, connections_) {}

Result<NextStep> WorkerLink::next() {
  std::unique_lock lock(state_.mutex);
  TRY(wait(lock, [this] {
    const auto& next = state_.exchange.next();
    return next && (next->is_over ? state_.residuals.may_leave() : state_.residuals.may_begin());
  }));
  const NextStep next = state_.exchange.take_next();
  sends_itself_ = parameters_.size_bytes() <= little_bytes ||
                  std::ranges::all_of(state_.peers.ways(), [](const LinkPeers::Way& way) {
                    return way.transport == Transport::shared_memory;
                  });
  unsettled_ = count_before(arenas_.chunks(), arenas_.state_begin());
  unsettled_state_ = std::ssize(arenas_.chunks());
  const std::int64_t version = next.is_over ? next.step : next.step - 1;  // sync: of all of them
  const SharedWeights layout{arenas_.elements()};
  parameters_ = state_.weights ? state_.weights->span().subspan(layout.begin_of(version),
                                                                index_of(layout.elements))
                               : arenas_.parameters(version);
  rounded_ = next.is_over ? std::span<const std::uint16_t>() : arenas_.rounded_parameters(version);
  return next;
}

std::span<const float> WorkerLink::parameters_on_host() {
  if (rounded_.empty()) return parameters_;
  decoded_.assign(parameters_.begin(), parameters_.end());
  decode_bfloat16(rounded_, std::span(decoded_).first(rounded_.size()));
  return decoded_;
}

Status WorkerLink::await_parameters(std::int64_t end) {
  const std::int64_t wanted = count_before(arenas_.chunks(), end);
  std::unique_lock lock(state_.mutex);
  return wait(lock, [&] { return state_.exchange.readable() >= wanted; });
}

Status WorkerLink::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_there) {
  if (is_there()) return ok();
  const auto began = LinkPeers::Clock::now();
  const LinkConnections::Here here(connections_);
  while (!is_there()) {
    TRY(state_.may_wait(began));
    here.move_bytes(lock);
  }
  return ok();
}

void WorkerLink::set_residual_scale(float scale) {
  if (OneBitEncoder* const onebit = arenas_.onebit()) onebit->set_residual_scale(scale);
}

// State first, of what is final last: it is little, and nothing of a step with a number that is
// none is then whole at any ps.
void WorkerLink::settle(std::int64_t from) {
  std::vector<std::int64_t> chunks;
  const std::int64_t state = count_before(arenas_.chunks(), arenas_.state_begin());
  while (from == 0 && unsettled_state_ > state) chunks.push_back(--unsettled_state_);
  while (unsettled_ > 0 && arenas_.final_from(unsettled_ - 1) >= from) {
    chunks.push_back(--unsettled_);
  }
  for (const std::int64_t chunk : chunks) {
    is_finite_ = is_finite_ && arenas_.encode(chunk);
    if (!is_finite_) return;
    // The one before leaves meanwhile.
    if (chunk != chunks.front() && arenas_.encodes()) connections_.ring();
    const std::lock_guard lock(state_.mutex);
    state_.step(GradientFinal{chunk});
  }
  if (chunks.empty()) return;
  // What is little leaves at once; with much of it this thread has better to do.
  if (!sends_itself_ || !connections_.try_send()) connections_.ring();
}

// It leaves with the gradient.
void WorkerLink::tell_sums(std::int64_t step, const BatchSums& sums) {
  const std::lock_guard lock(state_.mutex);
  state_.exchange.say_sums(step, sums);
}

std::int64_t WorkerLink::marked_snapshot() const {
  const std::lock_guard lock(state_.mutex);
  return state_.exchange.marked_snapshot();
}

ExchangeNews WorkerLink::take_news() {
  const std::lock_guard lock(state_.mutex);
  return std::exchange(state_.news, {.version = state_.news.version, .sums = {}, .traffic = {}});
}

std::vector<std::int64_t> WorkerLink::rows_ports() const {
  const std::lock_guard lock(state_.mutex);
  std::vector<std::int64_t> ports;
  for (const LinkPeers::Way& way : state_.peers.ways()) ports.push_back(way.rows_port);
  return ports;
}

std::string WorkerLink::computed_on() const {
  const std::lock_guard lock(state_.mutex);
  return state_.peers.ways().front().computed_on;
}

std::vector<Transport> WorkerLink::transports() const {
  const std::lock_guard lock(state_.mutex);
  std::vector<Transport> transports;
  for (const LinkPeers::Way& way : state_.peers.ways()) transports.push_back(way.transport);
  return transports;
}

bool WorkerLink::differs_from_peers() const {
  const std::lock_guard lock(state_.mutex);
  return state_.differs;
}

Status WorkerLink::state() const {
  const std::lock_guard lock(state_.mutex);
  return state_.failed ? Status(*state_.failed) : ok();
}

void WorkerLink::give_up() {
  const std::lock_guard lock(state_.mutex);
  state_.fail("this task has failed");
}

void WorkerLink::leave(Leaving who) {
  std::unique_lock lock(state_.mutex);
  state_.requests.leave(who);
  state_.ask_unanswered();
  connections_.ring();
  const auto deadline = std::chrono::steady_clock::now() + release_limit;
  const auto is_over = [&] {
    return state_.requests.is_released() || state_.failed || state_.stop.stop_requested() ||
           std::chrono::steady_clock::now() > deadline;
  };
  while (!is_over()) {
    state_.changed.wait_for(lock, std::chrono::milliseconds(look_up_millis));
  }
}

}  // namespace trainyard::runtime

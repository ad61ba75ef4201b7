// A whole gang in one process: any number of ps, each with its server and thread, on ports from the
// OS.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/core/chunk_plan.h"
#include "runtime/net/ps_server.h"
#include "runtime/net/remote_params.h"
#include "schemas/base/check.h"

namespace trainyard::runtime::test {

// Every way from a worker to a ps, the best first.
inline constexpr std::array all_transports{
    RemoteOptions::Transport::shared_memory, RemoteOptions::Transport::unix_socket,
    RemoteOptions::Transport::tcp, RemoteOptions::Transport::grpc};

inline const char* name_of(RemoteOptions::Transport transport) {
  constexpr std::array names{"shared memory", "unix", "tcp", "grpc"};
  return names.at(static_cast<std::size_t>(transport));
}

struct GangSpec {
  Mode mode = Mode::sync;
  std::int64_t ps = 1;
  std::int64_t workers = 1;
  std::int64_t max_steps = 10;
  std::int64_t elements = 100'003;  // several chunks, the last one short
  OptimizerConfig optimizer{.kind = OptimizerKind::adam};
  Wire wire = Wire::float32;
  std::int64_t leaves = 0;     // sync: micro-batches of a step; 0 = one for each worker
  std::int64_t aggregate = 0;  // sync: not 0: with backup workers a step is of so many
  std::int64_t row_width = 0;  // of an embedding table; 0 = none
  bool keeps_previous = false;
  bool ps_return = false;
  bool names_heirs = false;
  std::chrono::milliseconds reconnect_limit = std::chrono::milliseconds(0);
  std::int64_t sharing_ps = 1 << 20;  // ps from this one on share no memory
  std::chrono::milliseconds first_caller_limit = std::chrono::minutes(2);
  std::chrono::milliseconds no_caller_limit = std::chrono::seconds(30);
  std::chrono::milliseconds return_limit = std::chrono::milliseconds(0);
  std::chrono::milliseconds late_caller_limit = std::chrono::seconds(30);
};

inline OptimizerSpec learning() {
  OptimizerSpec spec;
  spec.learning_rate = 0.01;
  return spec;
}

inline AlignedBuffer first_parameters(std::int64_t elements) {
  AlignedBuffer parameters(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters.span()[i] = std::cos(static_cast<float>(i));
  }
  return parameters;
}

// A gradient that depends on the parameters, the rank and the step, so that a mistake anywhere
// spreads.
inline void fake_gradient(std::span<const float> parameters, std::int64_t rank, std::int64_t step,
                          std::span<float> gradient) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] =
        0.3F * parameters[i] +
        1.0F / static_cast<float>(1 + (static_cast<std::int64_t>(i) + 31 * rank + 7 * step) % 97);
  }
}

class Gang {
 public:
  explicit Gang(GangSpec spec) : spec_(spec) {
    const auto shares = plan_shares(spec.elements, spec.ps);
    const AlignedBuffer parameters = first_parameters(spec.elements);
    threads_.resize(shares.size());
    for (const Share& share : shares) start_ps(share, parameters.span());
  }
  ~Gang() { stop(); }

  void stop() {
    for (auto& thread : threads_) thread.request_stop();
    threads_.clear();
    servers_.clear();
  }

  using Transport = RemoteOptions::Transport;
  [[nodiscard]] RemoteOptions options(std::int64_t rank,
                                      Transport transport = Transport::shared_memory) const {
    const Leaves owned =
        spec_.leaves == 0 ? Leaves{rank, rank + 1} : leaves_of(rank, spec_.workers, spec_.leaves);
    const std::int64_t leaves = spec_.leaves == 0 ? spec_.workers : spec_.leaves;
    return {.ps = addresses_,
            .token = "token",
            .rank = rank,
            .arena_elements = spec_.elements,
            .parts = rank < leaves ? std::ssize(sent_nodes(spec_.wire, owned, leaves)) : 1,
            .wire = spec_.wire,
            .first_leaf = owned.begin,
            .gaps = {},
            .row_width = spec_.row_width,
            .cuts = cuts(),
            .streamed_bytes_min = 0,
            .backup_workers = spec_.aggregate > 0,
            .ps_return = spec_.ps_return,
            .reconnect_limit = spec_.reconnect_limit,
            .connect_limit = std::chrono::seconds(20),
            .exchange_limit = std::chrono::seconds(20),
            .transport = transport,
            .stop = {}};
  }

  [[nodiscard]] const GangSpec& spec() const { return spec_; }
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  // How ps `index` ended; waits for it.
  Result<PsServer::Ended> ended(std::size_t index) {
    threads_[index].join();
    return *ends_[index];
  }

  // Ps `index` is gone, from one moment to the next as its callers see it; and starts again
  // at its address, from the first parameters.
  void lose_ps(std::size_t index) {
    threads_[index] = {};
    servers_[index].reset();
  }
  void return_ps(std::size_t index) {
    const AlignedBuffer parameters = first_parameters(spec_.elements);
    Aggregator::Start start;
    if (spec_.mode == Mode::async) {
      start.first_steps = std::vector<std::int64_t>(static_cast<std::size_t>(spec_.workers));
    }
    open_ps(index, plan_shares(spec_.elements, spec_.ps)[index], parameters.span(),
            std::move(start));
  }

  // The table before a row of it is learned.
  [[nodiscard]] std::optional<RowTable> first_rows() const {
    if (spec_.row_width == 0) return std::nullopt;
    return RowTable({.variables = {{.name = "rows", .columns = spec_.row_width, .bound = 0.1}}}, 5,
                    spec_.optimizer);
  }

 private:
  [[nodiscard]] std::vector<std::int64_t> cuts() const {
    std::vector<std::int64_t> begins;
    for (std::int64_t at = 0; at < spec_.elements; at += 7777) begins.push_back(at);
    return begins;
  }
  [[nodiscard]] std::optional<BackupSteps::Rules> backups(std::size_t index) const {
    if (spec_.aggregate == 0) return std::nullopt;
    using enum BackupSteps::Part;
    return BackupSteps::Rules{.part = spec_.ps == 1 ? alone
                                      : index == 0  ? leads
                                                    : follows,
                              .ranks = spec_.workers,
                              .aggregate = spec_.aggregate,
                              .max_steps = spec_.max_steps};
  }

  void start_ps(const Share& share, std::span<const float> parameters) {
    const std::size_t index = servers_.size();
    servers_.emplace_back();
    addresses_.emplace_back("127.0.0.1:0");
    ends_.emplace_back(std::make_unique<Result<PsServer::Ended>>(internal("runs")));
    open_ps(index, share, parameters, {});
    addresses_[index] = "127.0.0.1:" + std::to_string(servers_[index]->port());
  }

  void open_ps(std::size_t index, const Share& share, std::span<const float> parameters,
               Aggregator::Start start) {
    AlignedBuffer weights(static_cast<std::size_t>(share.elements()));
    PayloadReader(payload_of(parameters, share)).read(weights.span());
    std::vector<AlignedBuffer> slots;
    for (std::size_t i = 0; i < slot_names(spec_.optimizer.kind).size(); ++i) {
      slots.emplace_back(weights.size());
    }
    const auto write = [](const Snapshot& snapshot) -> Result<ArtifactFile> {
      return ArtifactFile{.name = "shard of " + std::to_string(snapshot.step),
                          .bytes = static_cast<std::int64_t>(snapshot.weights->size()),
                          .sha256 = ""};
    };
    auto server = PsServer::start(
        {.listen = addresses_[index],
         .token = "token",
         .first_caller_limit = spec_.first_caller_limit,
         .no_caller_limit = spec_.no_caller_limit,
         .return_limit = spec_.return_limit,
         .late_caller_limit = spec_.late_caller_limit},
        {.rules = {.gate = {.mode = spec_.mode,
                            .ranks = spec_.workers,
                            .max_steps = spec_.max_steps},
                   .leaves = spec_.leaves,
                   .optimizer = learning(),
                   .wire = spec_.wire,
                   .share = {},
                   .gives_turns = index == 0,
                   .keeps_previous = spec_.keeps_previous,
                   .names_heirs = spec_.names_heirs,
                   .tail_elements_min = 1000,
                   .backups = backups(index)},
         .share = static_cast<std::int64_t>(index) < spec_.sharing_ps ? share : Share{},
         .arena_elements = spec_.elements,
         .shard = ParameterShard(spec_.optimizer, std::move(weights), std::move(slots)),
         .start = std::move(start),
         .files = {.write = write, .keep_only = [](const auto&) {}},
         .rows = first_rows()});
    ENSURE(server.has_value());
    servers_[index] = std::move(*server);
    threads_[index] = std::jthread([ps = servers_[index].get(), end = ends_[index].get()](
                                       const std::stop_token& stop) { *end = ps->serve(stop); });
  }

  GangSpec spec_;
  std::vector<std::unique_ptr<PsServer>> servers_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<Result<PsServer::Ended>>> ends_;
  std::vector<std::jthread> threads_;
};

}  // namespace trainyard::runtime::test

#include "tests/bench/chunk_gang.h"

#include <utility>

#include "runtime/core/arena_chunks.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::bench {
namespace {

using namespace runtime;  // NOLINT: this file is about it

constexpr const char* token = "bench";
constexpr std::int64_t chunk_elements = 64 << 10;
constexpr Attendance::Limits limits{.first_worker = seconds(600),
                                    .no_worker = seconds(600),
                                    .return_of_one = seconds(600),
                                    .late_worker = seconds(600)};

std::vector<ArenaChunk> chunks_of(const ChunkGang& gang) {
  return cut_chunks(plan_shares(gang.elements, gang.servers), chunk_elements);
}

}  // namespace

std::unique_ptr<ChunkServer> serve_share(const ChunkGang& gang, std::size_t index) {
  ChunkStore::Rules rules{.chunks = {},
                          .arena_elements = gang.elements,
                          .push = gang.wire.push,
                          .pull = gang.wire.pull,
                          .optimizer = {.kind = OptimizerKind::sgd},
                          .nodes = {},
                          .leaves = gang.ranks,
                          .mode = Mode::sync};
  std::int64_t elements = 0;
  for (const ArenaChunk& chunk : chunks_of(gang)) {
    if (chunk.holder != static_cast<std::int64_t>(index)) continue;
    rules.chunks.push_back(chunk.range);
    elements += chunk.range.size();
  }
  for (std::int64_t rank = 0; rank < gang.ranks; ++rank) rules.nodes.push_back({{rank, rank + 1}});
  const auto chunks = std::ssize(rules.chunks);
  ChunkStore store(std::move(rules), AlignedBuffer(index_of(elements)), {});
  auto tcp = StreamSocket::listen_tcp("127.0.0.1:0");
  ENSURE(tcp.has_value());
  auto local = StreamSocket::listen_unix(chunk_socket_name(token, index, tcp->port()));
  ENSURE(local.has_value());
  std::vector<StreamSocket> listeners;
  listeners.push_back(*std::move(tcp));
  listeners.push_back(*std::move(local));
  const auto step_at = [rate = gang.learning_rate](std::int64_t, std::int64_t) {
    return ChunkStore::UpdateScale{.learning_rate = rate};
  };
  auto server = ChunkServer::start(std::move(listeners),
                                   {.token = token,
                                    .rules = {.mode = Mode::sync,
                                              .ranks = gang.ranks,
                                              .chunks = chunks,
                                              .has_residuals = gang.wire.push == Wire::onebit},
                                    .start = {},
                                    .turns = {},
                                    .last_step = INT64_MAX,
                                    .step_at = step_at,
                                    .files = {},
                                    .limits = limits},
                                   std::move(store));
  ENSURE(server.has_value());
  return *std::move(server);
}

ChunkWorker::ChunkWorker(const ChunkGang& gang, std::int64_t rank, std::vector<std::string> servers,
                         Transport best)
    : elements_(gang.elements) {
  auto link = WorkerLink::open({.servers = std::move(servers),
                                .tries_local = best != Transport::tcp,
                                .token = token,
                                .rank = rank,
                                .arenas = {.chunks = chunks_of(gang),
                                           .holders = gang.servers,
                                           .parts = 1,
                                           .push = gang.wire.push,
                                           .pull = gang.wire.pull,
                                           .shares = best == Transport::shared_memory},
                                .mode = Mode::sync,
                                .max_steps = INT64_MAX,
                                .stop = {}});
  ENSURE(link.has_value());
  link_ = *std::move(link);
  ENSURE(link_->next().has_value());
  ENSURE(link_->await_parameters(elements_).has_value());
  const auto gradient = link_->gradient();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = static_cast<float>(i % 7) - 3.0F;
  }
}

void ChunkWorker::exchange() {
  link_->settle(0);
  ENSURE(link_->next().has_value());
  ENSURE(link_->await_parameters(elements_).has_value());
}

}  // namespace trainyard::bench

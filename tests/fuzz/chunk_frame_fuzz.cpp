// What a ps of the exchange by chunks is sent. Of the first byte: bit 0: by one of its two workers,
// or by anybody; bit 1: sync or async; bit 2: gradients come as float32 or as signs, with
// residuals; bit 7: sync, and the other worker is a backup worker.
#include <optional>

#include "runtime/net/chunks/chunk_server.h"
#include "runtime/net/chunks/worker_link.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;
using namespace trainyard::runtime;

namespace {

constexpr const char* token = "the attempt's secret";
constexpr std::int64_t elements = 40;
const std::vector<Range> chunks{{0, 16}, {16, 40}};

struct Scene {
  Mode mode = Mode::sync;
  Wire push = Wire::float32;
  std::int64_t aggregate = 0;
};

std::unique_ptr<ChunkServer> small_ps(const Scene& scene) {
  const Mode mode = scene.mode;
  const bool is_sync = mode == Mode::sync;
  AlignedBuffer weights(elements);
  ChunkStore store({.chunks = chunks,
                    .arena_elements = elements,
                    .push = scene.push,
                    .pull = Wire::float32,
                    .optimizer = {.kind = OptimizerKind::sgd},
                    .nodes = {{{0, 1}}, {is_sync ? Leaves{1, 2} : Leaves{0, 1}}},
                    .leaves = is_sync ? 2 : 1,
                    .mode = mode,
                    .aggregate = scene.aggregate},
                   weights, {});
  std::optional<PushTurns::Rules> turns;
  if (mode == Mode::async) turns = PushTurns::Rules{.pushes = 100, .max_staleness = {}};
  std::vector<StreamSocket> listeners;
  listeners.push_back(*StreamSocket::listen_tcp("127.0.0.1:0"));
  return *ChunkServer::start(
      std::move(listeners),
      {.token = token,
       .plan = 0,
       .rules = {.mode = mode,
                 .ranks = 2,
                 .chunks = std::ssize(chunks),
                 .has_residuals = store.has_residuals(),
                 .aggregate = scene.aggregate},
       .start = {},
       .turns = turns,
       .names_steps = scene.aggregate > 0,
       .last_step = 100,
       .step_at = [](std::int64_t,
                     std::int64_t) { return ChunkStore::UpdateScale{.learning_rate = 0.1}; },
       .files = {.write = [](const ShareSnapshot&) -> Result<ArtifactFile> {
                   return ArtifactFile{.name = "shard", .bytes = 1, .sha256 = {}};
                 },
                 .keep_only = [](const std::vector<std::int64_t>&) {}},
       .limits = {.first_worker = seconds(60),
                  .no_worker = seconds(60),
                  .return_of_one = seconds(60),
                  .late_worker = seconds(60)}},
      std::move(store));
}

std::string hello(std::int64_t rank) {
  const std::string payload = encode_hello({.rank = rank, .plan = 0, .token = token});
  const FrameHeaderBytes head = encode_header(
      {.kind = FrameKind::hello, .bytes = static_cast<std::uint32_t>(payload.size())});
  return std::string(reinterpret_cast<const char*>(head.data()), head.size()) + payload;
}

// The other worker is welcomed and may begin.
void ensure_it_lives(const ChunkServer& ps, const Scene& scene) {
  const auto link = WorkerLink::open(
      {.servers = {"127.0.0.1:" + std::to_string(ps.port())},
       .tries_local = false,
       .token = token,
       .rank = 0,
       .plan = 0,
       .arenas = {.chunks = {{chunks[0], 0}, {chunks[1], 0}}, .holders = 1, .push = scene.push},
       .mode = scene.mode,
       .max_steps = 100,
       .asks_ahead = false,
       .limit = std::chrono::seconds(10),
       .stop = {}});
  ENSURE((*link)->next().has_value());
}

// A worker that is named and sends nothing is waited for, so the other one may wait, too.
void ensure_it_welcomes(const ChunkServer& ps) {
  const auto socket = StreamSocket::connect_tcp(
      "127.0.0.1:0", ps.port(), StreamSocket::Clock::now() + std::chrono::seconds(10), {});
  ENSURE(socket.has_value());
  std::string bytes = hello(0);
  const iovec piece{bytes.data(), bytes.size()};
  ENSURE(socket->send({&piece, 1}).has_value());
  FrameHeaderBytes head{};
  for (std::size_t come = 0; come < head.size();) {
    fuzz::await_input(socket->descriptor());
    const iovec place{head.data() + come, head.size() - come};
    const auto more = socket->receive({&place, 1});
    ENSURE(more.has_value());
    come += *more;
  }
  ENSURE(decode_header(head)->kind == FrameKind::welcome);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Scene scene{.mode = (data[0] & 2) == 0 ? Mode::sync : Mode::async,
              .push = (data[0] & 4) == 0 ? Wire::float32 : Wire::onebit};
  const bool has_backups = (data[0] & 128) != 0;
  if (has_backups) scene = {.aggregate = 1};
  const auto ps = small_ps(scene);
  const auto socket = StreamSocket::connect_tcp(
      "127.0.0.1:0", ps->port(), StreamSocket::Clock::now() + std::chrono::seconds(10), {});
  ENSURE(socket.has_value());
  const std::string bytes =
      (data[0] % 2 == 1 ? hello(1) : std::string()).append(fuzz::text_of(data, size).substr(1));
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  if (!bytes.empty()) static_cast<void>(socket->send({&piece, 1}).has_value());
  fuzz::await_end(socket->descriptor());
  has_backups ? ensure_it_welcomes(*ps) : ensure_it_lives(*ps, scene);
  return 0;
}

// The parameter servers of a gang in tests, and what their snapshots are.
#include <catch2/catch.hpp>
#include <cmath>
#include <future>
#include <numeric>

#include "runtime/core/arena_layout.h"
#include "runtime/core/partition.h"
#include "runtime/graph/device_share.h"
#include "runtime/math/wire/bfloat16.h"
#include "runtime/math/wire/onebit.h"
#include "schemas/base/index.h"
#include "tests/runtime/chunks/gang.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime::test {
namespace {

constexpr Attendance::Limits patient_limits{.first_worker = seconds(60),
                                            .no_worker = seconds(60),
                                            .return_of_one = seconds(60),
                                            .late_worker = seconds(60)};

// The elements of a ps' chunks, one after another, between an arena and a share.
void gather(std::span<const float> arena, std::span<const Range> chunks, AlignedBuffer& share) {
  std::int64_t at = 0;
  for (const Range& range : chunks) {
    std::ranges::copy(arena.subspan(index_of(range.begin), index_of(range.size())),
                      share.span().subspan(index_of(at)).begin());
    at += range.size();
  }
}

void scatter(const AlignedBuffer& share, std::span<const Range> chunks, std::span<float> arena) {
  std::int64_t at = 0;
  for (const Range& range : chunks) {
    std::ranges::copy(share.span().subspan(index_of(at), index_of(range.size())),
                      arena.subspan(index_of(range.begin)).begin());
    at += range.size();
  }
}

std::vector<Range> ranges_of(const GangScene& scene, std::int64_t ps) {
  std::vector<Range> ranges;
  for (const ArenaChunk& chunk : chunks_of(scene)) {
    if (chunk.holder == ps) ranges.push_back(chunk.range);
  }
  return ranges;
}

std::int64_t elements_of(std::span<const Range> ranges) {
  std::int64_t elements = 0;
  for (const Range& range : ranges) elements += range.size();
  return elements;
}

// Of all but state.
void reside(ChunkStore& store, std::unique_ptr<Device> device, const AlignedBuffer& weights,
            const std::vector<AlignedBuffer>& slots) {
  std::size_t elements = 0;
  for (std::int64_t chunk = 0; chunk < store.chunks(); ++chunk) {
    if (!store.layout().is_state(chunk)) elements = index_of(store.layout().place_of(chunk).end);
  }
  if (elements == 0) return;
  const StoreRules& rules = store.layout().rules();
  auto share = DeviceShare::open(std::move(device),
                                 {.update = rules.update,
                                  .optimizer = rules.optimizer,
                                  .part_max = store.layout().largest_chunk()},
                                 weights.span().first(elements), slots);
  REQUIRE(share != nullptr);
  store.reside(std::move(share));
}

ParameterServer::Rules::Clipping clipping_in(const GangScene& scene) {
  using enum ParameterServer::Rules::Clipping;
  if (scene.clip_norm == 0) return none;
  std::int64_t holders = 0;
  for (std::int64_t ps = 0; ps < scene.servers; ++ps)
    holders += ranges_of(scene, ps).empty() ? 0 : 1;
  return holders == 1 ? alone : together;
}

}  // namespace

Servers::Servers(const GangScene& scene, const GangState& state) {
  for (std::int64_t ps = 0; ps < scene.servers; ++ps) {
    ChunkStore::Rules rules{.chunks = ranges_of(scene, ps),
                            .arena_elements = scene.elements,
                            .push = scene.push,
                            .pull = scene.pull,
                            .state_begin = runtime::state_begin_of(variables_of(scene)),
                            .exact_from = scene.max_steps,
                            .optimizer = {.kind = scene.optimizer},
                            .update = ArenaUpdate(variables_of(scene), DecayedVariables::all),
                            .mean_over = scene.mean_over,
                            .clip_norm = scene.clip_norm,
                            .nodes = nodes_of(scene),
                            .leaves = scene.mode == Mode::sync ? scene.leaves : 1,
                            .mode = scene.mode,
                            .aggregate = scene.aggregate,
                            .version = state.version};
    const std::vector<Range> ranges = rules.chunks;
    const auto share_of = [&](std::span<const float> arena) {
      AlignedBuffer share(index_of(elements_of(ranges)));
      gather(arena, ranges, share);
      return share;
    };
    std::vector<AlignedBuffer> slots;
    for (const auto& slot : state.slots) slots.push_back(share_of(slot));
    std::optional<PushTurns::Rules> turns;
    if (scene.mode == Mode::async && ps == 0) {
      turns = {.pushes = scene.max_steps, .max_staleness = {}};
    }
    const AlignedBuffer weights = share_of(state.weights);
    ChunkStore store(std::move(rules), weights, slots);
    if (scene.device_of) reside(store, scene.device_of(ps), weights, slots);
    ChunkStore::Residuals residuals;
    for (const auto& [leaf, arena] : state.residuals) residuals[leaf] = share_of(arena);
    store.restore_residuals(residuals);
    auto listener = StreamSocket::listen_tcp("127.0.0.1:0");
    REQUIRE(listener.has_value());
    auto local =
        StreamSocket::listen_unix(chunk_socket_name(gang_token, index_of(ps), listener->port()));
    REQUIRE(local.has_value());
    std::vector<StreamSocket> listeners;
    listeners.push_back(*std::move(listener));
    listeners.push_back(*std::move(local));
    auto server = ChunkServer::start(
        std::move(listeners),
        {.token = gang_token,
         .plan = gang_plan,
         .rules = {.mode = scene.mode,
                   .ranks = scene.ranks,
                   .chunks = std::ssize(ranges),
                   .has_residuals = scene.push == Wire::onebit,
                   .aggregate = scene.aggregate,
                   .clipping = clipping_in(scene)},
         .start = {.version = state.version, .rank_steps = {}},
         .turns = turns,
         .names_steps = scene.aggregate > 0 && ps == 0,
         .last_step = scene.max_steps,
         .step_at = [step = step_at(scene)](std::int64_t, std::int64_t) { return step; },
         .files = files(ps),
         .limits = patient_limits,
         .on_failed =
             [this](const std::string& why) {
               if (!has_failed_.exchange(true)) failure_.set_value(why);
             }},
        std::move(store));
    REQUIRE(server.has_value());
    servers_.push_back(*std::move(server));
  }
}

std::string Servers::await_failure() { return failure_.get_future().get(); }

SnapshotFiles Servers::files(std::int64_t ps) {
  const auto copy_of = [](const AlignedBuffer& buffer) {
    AlignedBuffer copy(buffer.size());
    std::ranges::copy(buffer.span(), copy.data());
    return copy;
  };
  const auto write = [this, ps, copy_of](const ShareSnapshot& snapshot) -> Result<ArtifactFile> {
    ShareSnapshot copy{.step = snapshot.step,
                       .version = snapshot.version,
                       .rank_steps = snapshot.rank_steps,
                       .weights = copy_of(snapshot.weights),
                       .slots = {}};
    for (const AlignedBuffer& slot : snapshot.slots) copy.slots.push_back(copy_of(slot));
    for (const auto& [leaf, values] : snapshot.residuals) copy.residuals[leaf] = copy_of(values);
    const std::lock_guard lock(snapshots_.mutex);
    snapshots_.by_step[snapshot.step][ps] = std::move(copy);
    return ArtifactFile{
        .name = "shard " + std::to_string(ps), .bytes = 1, .sha256 = std::string(64, 'a')};
  };
  return {.write = write, .keep_only = nullptr, .keeps_newest = true};
}

GangState Servers::state_at(const GangScene& scene, std::int64_t step) {
  GangState state = first_state(scene);
  state.version = step;
  REQUIRE(eventually([&] {
    const std::lock_guard lock(snapshots_.mutex);
    return std::ssize(snapshots_.by_step[step]) == scene.servers;
  }));
  const std::lock_guard lock(snapshots_.mutex);
  const auto& copies = snapshots_.by_step.at(step);
  for (const auto& [ps, copy] : copies) {
    const std::vector<Range> ranges = ranges_of(scene, ps);
    scatter(copy.weights, ranges, state.weights);
    for (std::size_t i = 0; i < copy.slots.size(); ++i) {
      scatter(copy.slots[i], ranges, state.slots[i]);
    }
    for (const auto& [leaf, share] : copy.residuals) {
      auto& arena = state.residuals[leaf];
      arena.resize(state.weights.size());
      scatter(share, ranges, arena);
    }
  }
  return state;
}

std::vector<std::string> Servers::addresses() const {
  std::vector<std::string> addresses;
  for (const auto& server : servers_) {
    addresses.push_back("127.0.0.1:" + std::to_string(server->port()));
  }
  return addresses;
}

}  // namespace trainyard::runtime::test

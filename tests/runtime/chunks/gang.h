// Parameter servers and workers of one process over real sockets, with gradients that are plain
// functions of the parameters: what they make together can be worked out by one thread.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/arena_chunks.h"
#include "runtime/core/variable.h"
#include "runtime/graph/device.h"
#include "runtime/math/optim/optimizer.h"
#include "runtime/net/chunks/chunk_server.h"
#include "runtime/net/chunks/worker_link.h"

namespace trainyard::runtime::test {

struct GangScene {
  Mode mode = Mode::sync;
  std::int64_t ranks = 2;
  std::int64_t servers = 2;
  std::int64_t leaves = 2;
  std::int64_t elements = 20'000;
  std::int64_t chunk_elements = 4096;
  std::int64_t max_steps = 6;
  Wire push = Wire::float32;
  Wire pull = Wire::float32;
  bool stay_rounded = false;  // pulls of bfloat16, for who computes with them
  OptimizerKind optimizer = OptimizerKind::adam;
  bool local = false;   // by Unix sockets
  bool shares = false;  // and memory
  // Where there are any: variables of so many elements, each at a cache line's border, which the
  // policy gives to the ps.
  std::vector<std::int64_t> variables = {};
  Partitioning partitioning = Partitioning::chunks;
  // Of those, which are frozen; and the last so many are running averages.
  std::vector<std::size_t> frozen = {};
  std::size_t averages = 0;
  // Sync with backup workers: so many ranks make a step, each with one leaf. 0: all do.
  std::int64_t aggregate = 0;
  MeanOver mean_over = MeanOver::examples;
  double clip_norm = 0;
  // Where each ps updates its share; none: on the CPU.
  std::function<std::unique_ptr<Device>(std::int64_t ps)> device_of = {};
};
// By step, which ranks made it.
using StepRanks = std::map<std::int64_t, std::vector<std::int64_t>>;

// Sockets are named after it: two such programs run beside each other.
inline const std::string gang_token = "the attempt's secret " + std::to_string(::getpid());
inline constexpr std::uint64_t gang_plan = 0x17;

std::vector<Share> shares_of(const GangScene& scene);
std::vector<ArenaChunk> chunks_of(const GangScene& scene);
// By rank, as ChunkStore::Rules wants them.
std::vector<std::vector<Leaves>> nodes_of(const GangScene& scene);

std::vector<Variable> variables_of(const GangScene& scene);
// Just so many elements as its variables take.
GangScene with_arena_of(GangScene scene);
std::int64_t state_begin_of(const GangScene& scene);  // or the arena's end
std::vector<Range> gaps_of(const GangScene& scene);

float first_weight(std::int64_t element);
// Of one leaf; a node's is the sum in the order of the tree.
float leaf_gradient(std::int64_t leaf, std::int64_t step, std::int64_t element, float weight);
// Zero in gaps.
std::vector<float> node_gradient(const GangScene& scene, Leaves node, std::int64_t step,
                                 std::span<const float> weights);
// Tokens: how many count in a leaf; none in some steps.
std::int64_t denominator_of(std::int64_t leaf, std::int64_t step);
ChunkStore::UpdateScale step_at(const GangScene& scene);
float residual_scale_at(std::int64_t step);

// What a gang begins with: whole arenas, so that another number of ps and ranks can go on.
struct GangState {
  std::int64_t version = 0;
  std::vector<float> weights;
  std::vector<std::vector<float>> slots;
  std::map<std::int64_t, std::vector<float>> residuals = {};  // by leaf
};
GangState first_state(const GangScene& scene);

struct Snapshots {
  std::mutex mutex;
  // By step and ps; guarded by mutex.
  std::map<std::int64_t, std::map<std::int64_t, ShareSnapshot>> by_step;
};

class Servers {
 public:
  explicit Servers(const GangScene& scene) : Servers(scene, first_state(scene)) {}
  Servers(const GangScene& scene, const GangState& state);
  [[nodiscard]] std::vector<std::string> addresses() const;
  Snapshots& snapshots() { return snapshots_; }
  // Why a device of a ps failed, once one has.
  [[nodiscard]] std::string await_failure();
  // Of a snapshot that all ps have made.
  [[nodiscard]] GangState state_at(const GangScene& scene, std::int64_t step);

 private:
  SnapshotFiles files(std::int64_t ps);

  Snapshots snapshots_;
  std::atomic<bool> has_failed_ = false;
  std::promise<std::string> failure_;  // of the one device that fails
  std::vector<std::unique_ptr<ChunkServer>> servers_;
};

WorkerLink::Options link_options(const GangScene& scene, std::int64_t rank,
                                 std::vector<std::string> addresses);

// What a worker does from its start to the end; its parameters then. `snapshot_at`: not 0: it asks
// for a snapshot of this step. Stops, as a process that dies, before it settles `dies_at`'s
// gradient wholly: then nothing comes back.
struct WorkerLife {
  std::int64_t snapshot_at = 0;
  std::int64_t dies_at = 0;
  // Before it computes a step.
  std::function<void(WorkerLink& link, std::int64_t step)> at_step = {};
  // After the last.
  std::function<void(WorkerLink& link)> at_end = {};
};
std::vector<float> work(const GangScene& scene, std::int64_t rank,
                        const std::vector<std::string>& addresses, const WorkerLife& life = {});
// All ranks' ends; the first asks for a snapshot of this step.
std::vector<std::vector<float>> work_all(const GangScene& scene,
                                         const std::vector<std::string>& addresses,
                                         std::int64_t snapshot_at = 0);

// Sync: the parameters after so many steps, made by one thread; as the pull has them, which is
// exact of the scene's last. With backup workers: of the ranks in `made_by`.
std::vector<float> expected(const GangScene& scene, std::int64_t steps,
                            const StepRanks& made_by = {});

}  // namespace trainyard::runtime::test

// The floats of a ps, chunk by chunk: weights by version, optimizer slots, gradients that came, and
// copies for snapshots. What is done with them, and when, ParameterServer says. One thread owns a
// store; what it hands out may be read and dropped on any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/arena_chunks.h"
#include "runtime/core/reduction_tree.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/math/optim/optimizer.h"
#include "runtime/net/chunks/shared_layout.h"
#include "runtime/net/pool.h"
#include "runtime/net/tree_sum.h"
#include "runtime/net/wire_format.h"
#include "runtime/ps/parameter_server.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

class ChunkStore {
 public:
  struct Rules {
    std::vector<Range> chunks;  // of the arena, ascending
    std::int64_t arena_elements = 0;
    Wire push = Wire::float32;
    Wire pull = Wire::float32;  // float32 or bfloat16
    // Parameters of this version, the last, and newer ones are not rounded, whatever the pull.
    std::int64_t exact_from = std::numeric_limits<std::int64_t>::max();
    OptimizerConfig optimizer;
    // By rank, the nodes of the reduction tree whose sums it sends of each step. Sync: together
    // they are the whole tree of `leaves`. Async: each rank's own are.
    std::vector<std::vector<Leaves>> nodes;
    std::int64_t leaves = 1;
    Mode mode = Mode::sync;
    // Sync with backup workers: a step is of so many ranks, each of which sends one sum, as of a
    // leaf. 0: of all.
    std::int64_t aggregate = 0;
    std::int64_t version = 0;  // that training begins with
  };
  // Of all chunks, one after another: the weights, and the slots in the order of slot_names().
  ChunkStore(Rules rules, const AlignedBuffer& weights, const std::vector<AlignedBuffer>& slots);

  struct Bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };

  // Bytes of a rank's gradient of a chunk, as the wire has it.
  [[nodiscard]] std::size_t gradient_bytes_of(std::int64_t rank, std::int64_t chunk) const;
  // Where it goes. It is read by the update, and free again after it.
  std::span<std::byte> gradient_place(std::int64_t rank, std::int64_t chunk);

  // Such a gradient has come, and lies there; null: in its place here.
  void gradient_came(std::int64_t rank, std::int64_t chunk, SharedArenasPtr arenas);
  // Of a rank that shares its memory.
  [[nodiscard]] SharedLayout layout_of(std::int64_t rank) const;

  // What the encoding of gradients has lost: by leaf of the reduction tree, of the elements of all
  // chunks, one after another. Async: each rank has leaves of its own, in order of rank.
  using Residuals = std::map<std::int64_t, AlignedBuffer>;
  // Of the checkpoint that training begins with, before anything is updated. Of a rank of which a
  // leaf is missing it is zero.
  void restore_residuals(const Residuals& residuals);
  // Of a rank and chunk, part by part, until the chunk is updated with the rank's gradient; of
  // which there is none, nothing.
  [[nodiscard]] Bytes restored_residual(std::int64_t rank, std::int64_t chunk) const;
  [[nodiscard]] bool has_residuals() const { return rules_.push == Wire::onebit; }
  [[nodiscard]] std::size_t residual_bytes_of(std::int64_t rank, std::int64_t chunk) const;
  // Such bytes, for the snapshot that the chunk was copied for last.
  void residual_came(const ResidualCame& residual, std::span<const std::byte> bytes);

  struct Step {
    double learning_rate = 0;
    float gradient_scale = 1;
  };
  // Bits depend on the order of nodes in the tree alone.
  void update(const UpdateChunk& what, const Step& step);

  // Where the pull rounds: but not these.
  [[nodiscard]] bool is_exact(const ParameterServer::ChunkToSend& what) const {
    return rules_.pull != Wire::float32 && what.version >= rules_.exact_from;
  }
  // A chunk's weights as the wire has them: of its newest version, or the one before.
  [[nodiscard]] Bytes parameters(const ParameterServer::ChunkToSend& what) const;

  // The same, as a worker has them that they came to.
  void write_parameters(const ParameterServer::ChunkToSend& what, std::span<float> arena) const;

  // SharedWeights in which workers of this host read what else is written to them; -1: there are
  // none.
  [[nodiscard]] int shared_weights() const { return shared_ ? shared_->descriptor() : -1; }

  // All of them, one after another, as in the constructor.
  struct Copy {
    AlignedBuffer weights;
    std::vector<AlignedBuffer> slots;
    Residuals residuals;  // onebit: of all leaves whose ranks had not ended before
  };
  void copy(const CopyChunk& what);
  // What the snapshot holds, with its last chunk.
  std::optional<Copy> save(const SaveCopy& what);
  // Of all chunks as they are now, with the residuals of ranks that have changed none of them.
  [[nodiscard]] Copy copy_all() const;
  // Of a chunk, in such a copy.
  [[nodiscard]] Range place_of(std::int64_t chunk) const;

  [[nodiscard]] std::int64_t chunks() const { return std::ssize(chunks_); }

 private:
  struct Weights {
    AlignedBuffer master;
    AlignedBuffer rounded;  // bfloat16, two to a float, where the pull has that
  };
  using WeightsPtr = std::shared_ptr<Weights>;
  struct Chunk {
    Share share;              // its range alone
    std::int64_t offset = 0;  // elements of the chunks before it
    std::int64_t version = 0;
    std::int64_t snapshot = 0;  // the newest that it was copied for
    WeightsPtr newest;
    WeightsPtr previous;
  };
  using FloatsPtr = std::shared_ptr<const AlignedBuffer>;
  struct PendingCopy {
    Copy copy;
    std::int64_t saved = 0;  // chunks
  };

  [[nodiscard]] TreeSum sum_of(const Chunk& chunk, std::int64_t index,
                               const std::vector<std::int64_t>& ranks);
  void apply(const Chunk& chunk, TreeSum sum, const UpdateChunk& what, const Step& step,
             Weights& next);
  void keep_residual(const ResidualCame& residual, std::span<const std::byte> bytes,
                     Residuals& residuals) const;
  [[nodiscard]] Copy empty_copy() const;
  void copy_chunk(const Chunk& chunk, Copy& copy) const;
  [[nodiscard]] bool rounds(const ParameterServer::ChunkToSend& what) const {
    return rules_.pull == Wire::bfloat16 && !is_exact(what);
  }
  [[nodiscard]] std::optional<SharedFloats> share() const;
  [[nodiscard]] WeightsPtr shared_place(const Chunk& chunk, std::int64_t version) const;
  [[nodiscard]] WeightsPtr place_of_next(const UpdateChunk& what);
  [[nodiscard]] WeightsPtr place_of_rank(std::int64_t rank, const UpdateChunk& what);
  void round(Weights& weights, std::size_t count) const;
  [[nodiscard]] std::int64_t leaf_of(std::int64_t rank, std::size_t part) const;
  [[nodiscard]] Payload payload_of_gradient(std::int64_t rank, std::int64_t chunk);

  Rules rules_;
  std::vector<Chunk> chunks_;
  std::vector<AlignedBuffer> slots_;
  std::vector<std::int64_t> order_;                    // sync: of all nodes of a step
  std::vector<std::vector<std::int64_t>> rank_order_;  // async: by rank, of its own
  std::vector<std::vector<std::int64_t>> places_;      // by rank and chunk: byte in gradients_
  std::vector<AlignedBuffer> gradients_;               // by rank
  std::vector<std::vector<SharedArenasPtr>> lent_;     // by rank and chunk: where it lies instead
  std::vector<std::vector<WeightsPtr>> own_;           // async: likewise, of its parameters there
  std::vector<std::vector<FloatsPtr>> restored_;       // by rank and chunk; onebit; none: nullptr
  std::optional<SharedFloats> shared_;                 // all weights
  std::shared_ptr<Pool<Weights>> pool_;                // or of the largest chunk
  std::vector<Payload> payloads_;                      // of the sum that is made
  std::map<std::int64_t, PendingCopy> copies_;         // by snapshot
  std::int64_t elements_ = 0;
};

}  // namespace trainyard::runtime

// A checkpoint of async training that is a true cut: on every ps it holds exactly the same pushes
// of each worker. (K. M. Chandy and L. Lamport, Distributed Snapshots, ACM TOCS 3(1), 1985: here
// the channels are empty at a marker, as a worker has one push under way.)
//
// A worker's push that carries a marker is its last one in the cut. Until the markers of all
// workers are in, what comes from those that are still to mark is applied to the training's shard
// and to a copy of it, what comes from the others to the former alone. So no worker waits. A cut
// that is still open when training ends is what the ps has then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/math/rows/row_table.h"
#include "runtime/net/parameter_shard.h"

namespace trainyard::runtime {

// What the lossy encoding of the gradients of a leaf of the reduction tree had lost, of a share's
// elements: the worker's state, and a part of a checkpoint.
struct LeafResidual {
  std::int64_t leaf = 0;
  AlignedBuffer values;
};
using LeafResiduals = std::vector<std::shared_ptr<const LeafResidual>>;

// Weights and slots of one version, taken between two updates.
struct Snapshot {
  std::int64_t step = 0;  // its name
  std::int64_t version = 0;
  std::vector<std::int64_t> rank_steps;
  std::int64_t lost = 0;  // updates that the version counts and the shard lacks
  Weights weights;
  Slots slots;
  LeafResiduals residuals = {};    // of the leaves whose workers have sent them
  std::optional<RowTable> rows{};  // of the embedding table, where there is one
};

class Cut {
 public:
  // From the first marker on: `shard`, `version` and `rank_steps` with that push in them, and the
  // updates that the version counts and the shard lacks.
  Cut(std::int64_t step, ParameterShard shard, std::int64_t version,
      std::vector<std::int64_t> rank_steps, std::int64_t lost);

  [[nodiscard]] std::int64_t step() const { return step_; }
  [[nodiscard]] std::int64_t version() const { return version_; }
  // The rank's next push still belongs to it.
  [[nodiscard]] bool wants(std::int64_t rank) const;

  // A push of a rank that it wants, number `rank_step`; makes version() + 1.
  void apply(std::int64_t rank, std::int64_t rank_step, const ParameterShard::SumFrom& gradient,
             const ParameterShard::Update& update);
  // The same of the embedding table: its share at the first marker, and the gradients of each push
  // that belongs to the cut, before its apply().
  void keep_rows(RowTable rows) { rows_ = std::move(rows); }
  void apply_rows(const RowGradients& gradients, const RowTable::Update& update);
  // No more of the rank: it has marked, with these residuals, or is gone.
  void close(std::int64_t rank, const LeafResiduals& residuals = {});
  [[nodiscard]] bool is_complete() const;
  Snapshot take() &&;

 private:
  std::int64_t step_;
  ParameterShard shard_;
  std::int64_t version_;
  std::vector<std::int64_t> rank_steps_;
  std::int64_t lost_;
  std::vector<bool> open_;  // by rank
  LeafResiduals residuals_;
  std::optional<RowTable> rows_;
};

}  // namespace trainyard::runtime

// A ps' part of a checkpoint as a safetensors file: weights and optimizer slots of its share by
// variable and element range (schemas/wire/checkpoint_json), so that any number of ps can read what
// any other number wrote.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/arena_layout.h"
#include "runtime/math/aligned_buffer.h"
#include "schemas/base/result.h"
#include "schemas/types/run_event.h"

namespace trainyard::runtime {

class RowTables;

// "step-1000/shard-00001-of-00002.safetensors", counted from 1.
std::string shard_name(std::int64_t step, std::int64_t index, std::int64_t count);
std::string manifest_name(std::int64_t step);  // "step-1000/manifest.json"
std::string step_folder(std::int64_t step);    // "step-1000"

// What the encoding of the gradients of a leaf of the reduction tree has lost: slot
// "residual.<leaf>".
struct ResidualView {
  std::int64_t leaf = 0;
  std::span<const float> values;
};

// What a share is made of, in memory: `weights`, each of `slots` and of `residuals` have
// share.elements() floats.
struct ShareView {
  std::span<const Variable> variables;
  const Share& share;
  std::span<const float> weights;
  std::span<const std::string> slot_names;
  std::span<const std::span<const float>> slots;
  std::span<const ResidualView> residuals = {};
  const RowTables* rows = nullptr;  // the share of the embedding tables, where there are some
};

// Durable when it returns. `invalid` when a weight is not finite: such a state is never saved.
Result<ArtifactFile> write_shard(const std::string& folder, const std::string& name,
                                 const ShareView& view);

struct RestoreRequest {
  std::string folder;
  std::span<const ArtifactFile> files;  // of one checkpoint, by whichever ps wrote them
  std::span<const Variable> variables;
  const Share& share;
  std::span<const std::string> slot_names;
  std::int64_t residual_leaves = 0;  // of how many leaves residuals are wanted
};

struct RestoredShare {
  AlignedBuffer weights;
  std::vector<AlignedBuffer> slots;
  // By leaf; none unless the checkpoint has those of exactly the leaves that were wanted.
  std::vector<AlignedBuffer> residuals = {};
};

// Reads what the share needs and nothing else. `invalid` when a file's hash differs or elements are
// missing.
Result<RestoredShare> restore_share(const RestoreRequest& request);

}  // namespace trainyard::runtime

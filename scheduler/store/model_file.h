// The file that users download: all variables of a committed checkpoint by name, as one safetensors
// file, put together from the shards that the parameter servers wrote.
#pragma once

#include <string>

#include "scheduler/store/artifacts.h"
#include "schemas/base/result.h"
#include "schemas/types/checkpoint.h"

namespace trainyard::scheduler {

// Weights only, in the manifest's order; the metadata is the manifest's description and the step.
// Of an embedding table all rows that were learned: "rows/ids" [rows], I64, and each of its
// variables, "embedding/kernel" [rows, columns], in the same order; other rows are as they start.
// Where ids are counted from the data the last tensor is "vocabulary", U8: vocabulary.txt of the
// checkpoint (docs/checkpoints.md).
// Written aside, then put at `path`, with a bounded amount of memory. `internal` unless the shards
// hold each element of each variable exactly once.
Status write_model_file(const Artifacts& artifacts, const Checkpoint& checkpoint,
                        const std::string& path);

}  // namespace trainyard::scheduler

// The second phase of a checkpoint: the file that says which shards are one state of the model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/core/arena_layout.h"
#include "runtime/core/row_layout.h"
#include "schemas/base/result.h"
#include "schemas/types/task_context.h"
#include "schemas/wire/checkpoint_json.h"

namespace trainyard::runtime {

// In Manifest::scalars: the number of updates in the shards. In async mode it may be a little more
// than the step that names the checkpoint.
inline constexpr char version_scalar[] = "version";

// In Manifest::description where ids are hashes: they are below it.
inline constexpr char hash_buckets_key[] = "hash_buckets";

// Likewise, where the bytes are those of one kind of device: of which, as Hello::fingerprint.
inline constexpr char computed_on_key[] = "computed_on";

// "step-1000/vocabulary.txt": what a model's ids are of (Dataset::words). Durable when it returns.
Result<ArtifactFile> write_vocabulary(const std::string& folder, std::int64_t step,
                                      std::string_view words);

// Durable when it returns.
Result<ArtifactFile> write_manifest(const std::string& folder, const Manifest& manifest);

// The manifest of a checkpoint that is to be restored. `invalid` when its hash differs.
Result<Manifest> read_manifest(const RestoreFrom& restore);

// `conflict` unless the checkpoint is of this model and optimizer.
Status check_fits(const Manifest& manifest, std::span<const Variable> variables,
                  std::span<const std::string> slot_names, const RowLayout& rows = {});

}  // namespace trainyard::runtime

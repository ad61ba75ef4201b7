// The rows of an embedding table in a shard file (see schemas/wire/checkpoint_json.h): by ascending
// id, the ids in one tensor, each part of the rows and of their slots in another.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/files/durable_file.h"
#include "runtime/math/rows/row_table.h"
#include "schemas/base/result.h"
#include "schemas/types/run_event.h"
#include "schemas/wire/safetensors.h"

namespace trainyard::runtime {

class RowTensors {
 public:
  // Both outlive this.
  RowTensors(const RowTable& table, std::span<const std::string> slot_names);

  [[nodiscard]] bool all_finite() const;
  // Adds the tensors to a file's header, and their bytes to the file, in the same order.
  void describe(SafetensorsHeader& header) const;
  Status write(DurableFile& file) const;

 private:
  const RowTable& table_;
  std::span<const std::string> slot_names_;
  std::vector<RowTable::Stored> rows_;
};

// Where rows are read from, and which of them a ps wants: those it holds among `owners`.
struct RowRestore {
  std::string folder;
  std::span<const ArtifactFile> files;  // of one checkpoint, whose hashes were checked
  std::span<const std::string> slot_names;
  std::int64_t owner = 0;
  std::int64_t owners = 1;
};

// Puts them into `table`. `invalid` where a file's tensors are not those of such rows.
Status restore_rows(const RowRestore& request, RowTable& table);

}  // namespace trainyard::runtime

// The rows of embedding tables in a shard file (see schemas/wire/checkpoint_json.h): of each table
// by ascending id, the ids in one tensor, each part of the rows and of their slots in another.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/files/durable_file.h"
#include "runtime/math/rows/row_tables.h"
#include "schemas/base/result.h"
#include "schemas/types/run_event.h"
#include "schemas/wire/safetensors.h"

namespace trainyard::runtime {

class RowTensors {
 public:
  // Both outlive this.
  RowTensors(const RowTables& tables, std::span<const std::string> slot_names);

  [[nodiscard]] bool all_finite() const;
  // Adds the tensors to a file's header, and their bytes to the file, in the same order.
  void describe(SafetensorsHeader& header) const;
  Status write(DurableFile& file) const;

 private:
  Status write_table(std::int64_t table, const std::vector<RowTable::Stored>& rows,
                     DurableFile& file) const;

  const RowTables& tables_;
  std::span<const std::string> slot_names_;
  std::vector<std::vector<RowTable::Stored>> rows_;  // by table
};

// Where rows are read from, and which of them a ps wants: those it holds among `owners`.
struct RowRestore {
  std::string folder;
  std::span<const ArtifactFile> files;  // of one checkpoint, whose hashes were checked
  std::span<const std::string> slot_names;
  std::int64_t owner = 0;
  std::int64_t owners = 1;
};

// Puts them into `tables`. `invalid` where a file's tensors are not those of such rows.
Status restore_rows(const RowRestore& request, RowTables& tables);

}  // namespace trainyard::runtime

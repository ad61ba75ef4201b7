// What a task serves of the parameters: chunks of the arena, and rows of an embedding table where
// the model has one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "runtime/math/rows/row_tables.h"
#include "runtime/net/chunks/chunk_server.h"
#include "runtime/net/rows/row_server.h"

namespace trainyard::runtime {

// Rows of snapshots, until the rest of theirs is written. Of the last version nothing changes any
// more: there the rows are taken as they are.
class RowShelf {
 public:
  void put(std::int64_t snapshot, RowTables tables);
  // Waits for them, but not for ever: they were pushed ahead of the rest. `internal` without.
  Result<RowTables> take(std::int64_t snapshot);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, RowTables> tables_;  // guarded by mutex_; the newest few
};

struct ServedShare {
  RowShelf shelf;
  bool lacks_memory = false;            // of the device that was to update it: the CPU does
  std::unique_ptr<RowServer> rows;      // none: the model has no table
  std::unique_ptr<ChunkServer> chunks;  // last: its threads use the others
};

}  // namespace trainyard::runtime

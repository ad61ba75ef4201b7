#include "scheduler/store/partition_rows.h"

#include "schemas/wire/partition_json.h"

namespace trainyard::scheduler {

Status save_partition(Db& db, const SavePartition& change) {
  return db.run(
      "INSERT INTO partitions (job, attempt, partition) VALUES (?, ?, ?) "
      "ON CONFLICT (job) DO UPDATE SET attempt = excluded.attempt, partition = excluded.partition",
      change.job.text, change.attempt, to_row_json(change.partition));
}

Result<std::optional<PartitionRow>> read_partition(Db& db, const JobId& job) {
  Query query = db.query("SELECT attempt, partition FROM partitions WHERE job = ?", job.text);
  std::optional<PartitionRow> found;
  if (query.next()) {
    found = PartitionRow{.attempt = query.integer(), .partition = query.parsed(partition_from_row)};
  }
  TRY(query.finish());
  return found;
}

}  // namespace trainyard::scheduler

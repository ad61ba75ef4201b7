#include "runtime/ps/owed_chunks.h"

#include <algorithm>
#include <utility>

#include "schemas/base/index.h"

namespace trainyard::runtime {

OwedChunks::OwedChunks(std::int64_t ranks, std::int64_t chunks)
    : workers_(index_of(ranks),
               Worker{.owed = decltype(Worker::owed)(index_of(chunks)), .ready = {}}) {}

void OwedChunks::owe(std::int64_t rank, std::int64_t chunk, std::int64_t version,
                     std::int64_t made) {
  Worker& worker = workers_.at(index_of(rank));
  worker.owed.at(index_of(chunk)) = version;
  if (version <= made) worker.ready.insert(chunk);
}

void OwedChunks::made(std::int64_t chunk, std::int64_t version) {
  for (Worker& worker : workers_) {
    const auto& owed = worker.owed.at(index_of(chunk));
    if (owed && *owed <= version) worker.ready.insert(chunk);
  }
}

void OwedChunks::forget(std::int64_t rank) {
  Worker& worker = workers_.at(index_of(rank));
  std::ranges::fill(worker.owed, std::nullopt);
  worker.ready.clear();
}

std::optional<OwedChunks::Owed> OwedChunks::take_next(std::int64_t rank) {
  Worker& worker = workers_.at(index_of(rank));
  if (worker.ready.empty()) return std::nullopt;
  const std::int64_t chunk = *worker.ready.begin();
  worker.ready.erase(worker.ready.begin());
  return Owed{chunk, *std::exchange(worker.owed[index_of(chunk)], std::nullopt)};
}

}  // namespace trainyard::runtime

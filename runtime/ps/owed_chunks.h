// Which chunks a parameter server owes to which worker, and which of them are there to be sent.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace trainyard::runtime {

class OwedChunks {
 public:
  OwedChunks(std::int64_t ranks, std::int64_t chunks);

  // This version of the chunk, in async it or a newer one; `made` is what there is. What the rank
  // was owed of the chunk before is not owed any more.
  void owe(std::int64_t rank, std::int64_t chunk, std::int64_t version, std::int64_t made);
  // The chunk has this version.
  void made(std::int64_t chunk, std::int64_t version);
  // Nothing is owed to the rank.
  void forget(std::int64_t rank);

  struct Owed {
    std::int64_t chunk = 0;
    std::int64_t version = 0;
  };
  // What the worker's next forward pass reads first of what is made; it is not owed any more.
  std::optional<Owed> take_next(std::int64_t rank);

 private:
  struct Worker {
    std::vector<std::optional<std::int64_t>> owed;  // by chunk: this version
    std::set<std::int64_t> ready;                   // chunks that are owed, and made
  };
  std::vector<Worker> workers_;  // by rank
};

}  // namespace trainyard::runtime

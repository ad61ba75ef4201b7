// How the parameters of a job are divided among the tasks that hold them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace trainyard {

// chunks: runs of at most 1 MiB without regard to variables, each to the holder that finishes
// first. round_robin and greedy: whole variables, the way TensorFlow places them.
enum class Partitioning { chunks, round_robin, greedy };

// What a holder has of one variable.
struct HeldVariable {
  std::string name = {};
  std::int64_t bytes = 0;
  std::int64_t pieces = 1;  // runs of elements that lie together
  bool operator==(const HeldVariable&) const = default;
};

struct HeldShare {
  std::string task = {};   // "ps/0"
  std::int64_t bytes = 0;  // of parameters, without the optimizer's state
  // How the chief reaches it: "shared memory", "unix", "tcp"; "" = within its own process.
  std::string transport = {};
  std::vector<HeldVariable> variables = {};  // the largest, largest first
  std::int64_t variables_left_out = 0;
  bool operator==(const HeldShare&) const = default;
};

// What the chief of an attempt tells of it: sizes are known only with the data set.
struct Partition {
  Partitioning policy = Partitioning::chunks;
  std::vector<HeldShare> shares = {};    // by holder
  std::vector<std::string> tables = {};  // embedding tables: rows are spread over all by id
  bool operator==(const Partition&) const = default;
};

inline std::int64_t total_bytes(const Partition& partition) {
  std::int64_t bytes = 0;
  for (const HeldShare& share : partition.shares) bytes += share.bytes;
  return bytes;
}

// The largest share over the mean of all: the slowest holder sets the pace, so 2 means that half of
// their bandwidth is used. 1 is perfect, and said where there is nothing to hold.
inline double balance_of(const Partition& partition) {
  const std::int64_t total = total_bytes(partition);
  if (total == 0) return 1;
  const auto largest = std::ranges::max_element(partition.shares, {}, &HeldShare::bytes);
  return static_cast<double>(largest->bytes) * static_cast<double>(partition.shares.size()) /
         static_cast<double>(total);
}

}  // namespace trainyard

// What a row of an embedding table is made of, and which ps holds it. Tables are not in the arena:
// their rows are made when they are first learned, on the ps, and are named by their ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::runtime {

// Some columns of every row.
struct RowVariable {
  std::string name;  // "embedding/kernel"
  std::int64_t columns = 0;
  double bound = 0;  // its elements start in U(-bound, bound); 0: at zero
};

// The variables lie side by side in a row.
struct RowLayout {
  std::vector<RowVariable> variables;

  [[nodiscard]] std::int64_t width() const {
    std::int64_t sum = 0;
    for (const RowVariable& variable : variables) sum += variable.columns;
    return sum;
  }
};

// Every input bit moves half of the output bits (the finalizer of SplitMix64; Steele, Lea and
// Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
constexpr std::uint64_t mix_id(std::int64_t id) {
  auto x = static_cast<std::uint64_t>(id) + 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// Which of `owners` ps holds the row: neighbouring ids go to different ones, so that runs of
// frequent ids are shared out.
constexpr std::int64_t owner_of_row(std::int64_t id, std::int64_t owners) {
  return static_cast<std::int64_t>(mix_id(id) % static_cast<std::uint64_t>(owners));
}

}  // namespace trainyard::runtime

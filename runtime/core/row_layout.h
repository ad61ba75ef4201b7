// What the rows of embedding tables are made of, and which ps holds which. Tables are not in the
// arena: their rows are made when they are first learned, on the ps, and are named by their ids.
// The tables of a model are one space of rows: a row's name is its table's number and its id there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainyard::runtime {

// Some columns of every row of a table.
struct RowVariable {
  std::string name;  // "embedding/kernel"
  std::int64_t columns = 0;
  double bound = 0;        // its elements start in U(-bound, bound); 0: at zero
  std::int64_t table = 0;  // whose rows they are of
};

// A table's variables lie side by side in its rows, in this order.
struct RowLayout {
  std::vector<RowVariable> variables;

  [[nodiscard]] bool empty() const { return variables.empty(); }
  [[nodiscard]] std::int64_t tables() const {
    std::int64_t count = 0;
    for (const RowVariable& variable : variables) count = std::max(count, variable.table + 1);
    return count;
  }
  // Of a table's rows, in floats.
  [[nodiscard]] std::int64_t width(std::int64_t table = 0) const {
    std::int64_t sum = 0;
    for (const RowVariable& variable : variables) {
      if (variable.table == table) sum += variable.columns;
    }
    return sum;
  }
};

// Ids of a table are below this: what a batch names them by has 31 bits.
inline constexpr int table_id_bits = 31;
inline constexpr std::int64_t table_ids_max = std::int64_t{1} << table_id_bits;

constexpr std::int64_t row_of(std::int64_t table, std::int64_t id) {
  return table << table_id_bits | id;
}
constexpr std::int64_t table_of(std::int64_t row) { return row >> table_id_bits; }
constexpr std::int64_t id_in_table(std::int64_t row) { return row & (table_ids_max - 1); }

// How many floats a row has, by its table.
class RowWidths {
 public:
  RowWidths() = default;
  // One table. Implicit: most models have no more.
  RowWidths(std::int64_t width) : widths_{width} {}  // NOLINT(google-explicit-constructor)
  explicit RowWidths(const RowLayout& layout) {
    for (std::int64_t table = 0; table < layout.tables(); ++table) {
      widths_.push_back(layout.width(table));
    }
  }

  [[nodiscard]] bool empty() const { return widths_.empty(); }
  [[nodiscard]] std::int64_t tables() const { return std::ssize(widths_); }
  [[nodiscard]] std::int64_t of_table(std::int64_t table) const {
    return widths_[static_cast<std::size_t>(table)];
  }
  [[nodiscard]] bool has(std::int64_t row) const { return row >= 0 && table_of(row) < tables(); }
  // Of a row that it has.
  [[nodiscard]] std::int64_t of(std::int64_t row) const { return of_table(table_of(row)); }
  // Of all these together.
  [[nodiscard]] std::int64_t floats(std::span<const std::int64_t> rows) const {
    if (widths_.size() == 1) return std::ssize(rows) * widths_.front();
    std::int64_t sum = 0;
    for (const std::int64_t row : rows) sum += of(row);
    return sum;
  }

 private:
  std::vector<std::int64_t> widths_;
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

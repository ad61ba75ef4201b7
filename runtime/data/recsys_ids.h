// Cells of categories as ids: by hash, or by the vocabulary of their column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/types/recsys_spec.h"

namespace trainyard::runtime {

// The same on every host. `column` is a position in the file.
std::uint64_t hash_of_cell(std::size_t column, std::string_view cell);

struct NumberedIds {
  std::vector<std::int32_t> ids;     // [rows x columns]
  std::vector<std::int64_t> counts;  // by column: ids are below it
  std::vector<char> values;          // as recsys_vocabulary.h has them; none of hashes
};

class IdNumbering {
 public:
  explicit IdNumbering(const RecsysSpec& spec) : spec_(spec) {}

  // `names`: what a vocabulary calls the columns.
  void set_columns(std::vector<std::size_t> columns, std::vector<std::string> names);
  // A row. `invalid` where there are more distinct values than are held.
  Status add(const std::vector<std::string>& cells);
  NumberedIds take() &&;

 private:
  // By value: its number in the order of appearance, from 1, and how often it came.
  struct Value {
    std::int32_t number = 0;
    std::int64_t count = 0;
  };
  using Values = std::unordered_map<std::string, Value>;

  std::vector<std::int32_t> vocabulary_of(const Values& values, std::vector<char>& text) const;

  const RecsysSpec& spec_;
  std::vector<std::size_t> columns_;
  std::vector<std::string> names_;
  std::vector<Values> values_;   // by column
  std::size_t value_count_ = 0;  // of all columns
  std::vector<std::int32_t> ids_;
};

}  // namespace trainyard::runtime

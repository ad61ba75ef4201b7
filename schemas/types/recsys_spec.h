// What a job asks of a data set of categories and numbers: which columns of a CSV file are what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard {

enum class ColumnSeparator { comma, tab, semicolon };

// A field of ids that the model reads. Columns are header names, or positions from 0 in digits.
struct IdColumns {
  std::string field;
  std::vector<std::string> columns{};
  bool is_single = false;  // one column, written as itself: an id, and no list of one
  bool operator==(const IdColumns&) const = default;
};

// A field of one number: the natural logarithm of the share of the training examples that have the
// example's id.
struct LogFrequency {
  std::string field;
  std::string of;  // a field of one id
  bool operator==(const LogFrequency&) const = default;
};

struct RecsysSpec {
  ColumnSeparator separator = ColumnSeparator::comma;
  bool has_header = false;
  std::vector<std::string>
      numeric{};                    // columns of the field "numeric"; none: there is no such field
  std::vector<IdColumns> fields{};  // by name
  std::vector<LogFrequency> log_frequencies{};  // by name
  // Of the two one is 0. Ids are hashes below hash_buckets, or places in a column's own list of so
  // many values at most, the most frequent ones.
  std::int64_t hash_buckets = 0;
  std::int64_t vocabulary = 0;
  bool has_label = false;  // label_column is one
  bool operator==(const RecsysSpec&) const = default;
};

inline constexpr const char* numeric_field = "numeric";
inline constexpr const char* categorical_field = "categorical";

}  // namespace trainyard

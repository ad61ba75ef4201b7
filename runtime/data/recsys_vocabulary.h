// What the ids of a vocabulary are of, as a text that is saved with a checkpoint: CSV with the
// columns field, column, id and value, a line for each id of each field, in their order. The id is
// the one that the model reads, and that its table's row has. Id 0 of a column, an empty cell or
// any other value, has an empty value.
//
// Until then a column's values are lines: its name, then the value of each of its ids from 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/recsys_set.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

void add_value_line(std::string_view value, std::vector<char>& lines);

// Whether there are as many lines as the columns have ids (id 0 is its name's).
bool has_a_line_for_each(std::span<const char> lines, std::span<const std::int64_t> counts);

struct RecsysVocabulary {
  const std::vector<IdFieldShape>& fields;
  const std::vector<std::vector<FieldColumn>>& columns;  // by field
  std::span<const char> values;                          // lines, has_a_line_for_each() of them
  std::span<const std::int64_t> counts;                  // by column
};

// "" where there are no values. `invalid` where it would have more than 1 GiB.
Result<std::string> vocabulary_text(const RecsysVocabulary& vocabulary);

}  // namespace trainyard::runtime

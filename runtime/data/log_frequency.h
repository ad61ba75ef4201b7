// How often ids come in training, as a logarithm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::runtime {

struct IdColumn {
  std::span<const std::int32_t> table;  // [rows x columns]
  std::int64_t columns = 0;
  std::int64_t column = 0;
};

// By row, of the id that it has in the column: log(max(n, 1) / N), where n of the N rows of
// training have that id.
std::vector<float> log_frequencies(const IdColumn& ids, std::span<const std::int64_t> training);

}  // namespace trainyard::runtime

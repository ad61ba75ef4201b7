#include "runtime/data/log_frequency.h"

#include <algorithm>
#include <cstddef>

#include "runtime/core/portable_math.h"

namespace trainyard::runtime {

std::vector<float> log_frequencies(const IdColumn& ids, std::span<const std::int64_t> training) {
  const auto id_of = [&ids](std::int64_t row) {
    return ids.table[static_cast<std::size_t>(row * ids.columns + ids.column)];
  };
  std::vector<std::int32_t> trained;
  for (const std::int64_t row : training) trained.push_back(id_of(row));
  std::ranges::sort(trained);
  const double all = portable_log(static_cast<double>(training.size()));
  std::vector<float> logarithms(ids.table.size() / static_cast<std::size_t>(ids.columns));
  for (std::size_t row = 0; row < logarithms.size(); ++row) {
    const auto [first, last] =
        std::equal_range(trained.begin(), trained.end(), id_of(static_cast<std::int64_t>(row)));
    const auto count = static_cast<double>(std::max<std::ptrdiff_t>(last - first, 1));
    logarithms[row] = static_cast<float>(portable_log(count) - all);
  }
  return logarithms;
}

}  // namespace trainyard::runtime

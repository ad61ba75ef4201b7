// Largest first onto the least loaded: chunks are of one size but for the last, so the arena's own
// order is that order.
#include "runtime/core/chunk_plan.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t chunk_bytes_min = 64 << 10;
constexpr std::int64_t chunk_bytes_max = 1 << 20;
constexpr std::int64_t chunks_per_ps = 16;
constexpr std::int64_t line_bytes = 64;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

}  // namespace

void append_range(Share& share, Range range) {
  if (!share.ranges.empty() && share.ranges.back().end == range.begin) {
    share.ranges.back().end = range.end;
  } else {
    share.ranges.push_back(range);
  }
}

std::int64_t Share::elements() const {
  return std::accumulate(ranges.begin(), ranges.end(), std::int64_t{0},
                         [](std::int64_t sum, const Range& range) { return sum + range.size(); });
}

std::int64_t chunk_elements(std::int64_t arena_elements, std::int64_t ps_count) {
  const std::int64_t bytes = std::max<std::int64_t>(arena_elements * float_bytes, 1);
  const std::int64_t wanted =
      std::clamp(bytes / (chunks_per_ps * ps_count), chunk_bytes_min, chunk_bytes_max);
  const std::int64_t chunks = round_up(divide_up(bytes, wanted), ps_count);
  return round_up(divide_up(bytes, chunks), line_bytes) / float_bytes;
}

std::vector<Share> plan_shares(std::int64_t arena_elements, std::int64_t ps_count) {
  ENSURE(arena_elements >= 0 && ps_count >= 1);
  const std::int64_t chunk = chunk_elements(arena_elements, ps_count);

  std::vector<Share> shares(static_cast<std::size_t>(ps_count));
  std::vector<std::int64_t> load(shares.size(), 0);
  for (std::int64_t begin = 0; begin < arena_elements; begin += chunk) {
    const Range range{begin, std::min(begin + chunk, arena_elements)};
    const auto lightest = std::ranges::min_element(load);
    append_range(shares[static_cast<std::size_t>(lightest - load.begin())], range);
    *lightest += range.size();
  }
  return shares;
}

}  // namespace trainyard::runtime

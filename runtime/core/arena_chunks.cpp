#include "runtime/core/arena_chunks.h"

#include <algorithm>

#include "schemas/base/check.h"

namespace trainyard::runtime {

std::vector<ArenaChunk> cut_chunks(std::span<const Share> shares, std::int64_t elements_max,
                                   std::int64_t state_begin) {
  ENSURE(elements_max > 0 && elements_max % chunk_block == 0);
  std::vector<ArenaChunk> chunks;
  for (std::size_t holder = 0; holder < shares.size(); ++holder) {
    for (const Range& range : shares[holder].ranges) {
      for (std::int64_t begin = range.begin; begin < range.end;) {
        const std::int64_t border = (begin / chunk_block) * chunk_block + elements_max;
        const std::int64_t side_end = begin < state_begin ? state_begin : range.end;
        const std::int64_t end = std::min({border, side_end, range.end});
        chunks.push_back({{begin, end}, static_cast<std::int64_t>(holder)});
        begin = end;
      }
    }
  }
  std::ranges::sort(chunks, {}, [](const ArenaChunk& chunk) { return chunk.range.begin; });
  return chunks;
}

std::int64_t count_before(std::span<const ArenaChunk> chunks, std::int64_t element) {
  const auto is_before = [element](const ArenaChunk& chunk) { return chunk.range.begin < element; };
  return std::ranges::partition_point(chunks, is_before) - chunks.begin();
}

std::vector<std::vector<std::int64_t>> chunks_by_holder(std::span<const ArenaChunk> chunks,
                                                        std::int64_t holders) {
  std::vector<std::vector<std::int64_t>> indices(static_cast<std::size_t>(holders));
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    indices.at(static_cast<std::size_t>(chunks[i].holder)).push_back(static_cast<std::int64_t>(i));
  }
  return indices;
}

}  // namespace trainyard::runtime

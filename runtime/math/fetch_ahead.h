// For loops over arrays that are longer than the caches. The processor's own fetching ahead stops
// at the end of each page and has to find out anew behind it, in every array that the loop reads.
#pragma once

#include <cstdint>

namespace trainyard::runtime {

// A loop goes block by block, and before each asks for the next one's lines.
inline constexpr std::int64_t fetched_elements = 256;

// `from` need not lie in an array: nothing is read.
inline void fetch_ahead(const float* from) {
  constexpr std::int64_t line_elements = 16;
  for (std::int64_t i = 0; i < fetched_elements; i += line_elements) __builtin_prefetch(from + i);
}

}  // namespace trainyard::runtime

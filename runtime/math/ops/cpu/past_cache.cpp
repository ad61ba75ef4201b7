#include "runtime/math/ops/past_cache.h"

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace trainyard::runtime {

void copy_past_cache(std::span<const float> from, std::span<float> to) {
  constexpr std::size_t kLanes = 8;
  if (reinterpret_cast<std::uintptr_t>(to.data()) % (kLanes * sizeof(float)) == 0) {
    const std::size_t whole = from.size() / kLanes * kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) {
      _mm256_stream_ps(to.data() + i, _mm256_loadu_ps(from.data() + i));
    }
    from = from.subspan(whole);
    to = to.subspan(whole);
  }
  std::ranges::copy(from, to.begin());
}

void settle_past_cache() { _mm_sfence(); }

}  // namespace trainyard::runtime

#include "runtime/math/ops/past_cache.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/math/aligned_buffer.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

TEST_CASE("what is written past the cache is all there, wherever it begins and ends",
          "[past_cache]") {
  const auto from = random_floats(300, 1);
  for (const std::size_t begin : {0, 1, 7, 8, 16}) {
    for (const std::size_t count : {0, 1, 7, 8, 9, 64, 250}) {
      INFO(count << " floats at " << begin);
      AlignedBuffer to(300);
      std::ranges::fill(to.span(), -1.0F);
      copy_past_cache(std::span(from).first(count), to.span().subspan(begin));
      settle_past_cache();
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool inside = i >= begin && i < begin + count;
        REQUIRE(to.span()[i] == (inside ? from[i - begin] : -1.0F));
      }
    }
  }
}

}  // namespace trainyard::runtime

#include "runtime/math/aligned_buffer.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <new>

#include "tests/environment.h"

using namespace trainyard;
using namespace trainyard::runtime;

TEST_CASE("memory lies at a cache line's border and is zero", "[math]") {
  const AlignedBuffer buffer(100);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment_bytes == 0);
  CHECK(buffer.size() == 100);
  for (const float value : buffer.span()) CHECK(value == 0.0F);
}

// A spec says how large a model is: that is no mistake of ours, which would end the process. A
// sanitizer ends it all the same.
TEST_CASE("memory that nobody has is an exception", "[math][mend-A3]") {
  if (is_sanitized) return;
  constexpr std::size_t more_than_any_address = std::size_t{1} << 48;
  CHECK_THROWS_AS(AlignedBuffer(more_than_any_address), std::bad_alloc);
}

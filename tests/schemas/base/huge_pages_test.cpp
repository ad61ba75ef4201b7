#include "schemas/base/huge_pages.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <vector>

using namespace trainyard;

TEST_CASE("memory of large pages holds what is written, from its first byte to its last",
          "[huge_pages]") {
  for (const std::size_t bytes :
       {std::size_t{1}, huge_page_bytes - 1, huge_page_bytes, 5 * huge_page_bytes + 3}) {
    auto* const memory = static_cast<unsigned char*>(allocate_huge(bytes));
    REQUIRE(memory != nullptr);
    if (bytes >= huge_page_bytes) {
      CHECK(reinterpret_cast<std::uintptr_t>(memory) % huge_page_bytes == 0);
    }
    memory[0] = 7;
    memory[bytes - 1] = 9;
    CHECK(memory[bytes - 1] == 9);
    free_huge(memory, bytes);
  }
}

TEST_CASE("a container of large pages grows and keeps its elements", "[huge_pages]") {
  std::vector<std::int64_t, HugePages<std::int64_t>> numbers;
  for (std::int64_t i = 0; i < 1'000'000; ++i) numbers.push_back(i);
  const auto copy = numbers;
  numbers = {};
  for (std::int64_t i = 0; i < 1'000'000; i += 999) {
    CHECK(copy[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("memory that no machine has is refused", "[huge_pages]") {
  CHECK_THROWS_AS(allocate_huge(std::numeric_limits<std::size_t>::max() - 5), std::bad_alloc);
  CHECK_THROWS_AS(HugePages<double>().allocate(std::numeric_limits<std::size_t>::max() / 2),
                  std::bad_alloc);
}

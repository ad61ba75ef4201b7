#include "runtime/core/row_mode.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {

TEST_CASE("rows are summed on the ps where that is fewer bytes", "[rows]") {
  // 512 examples of 20 ids, nearly all different: 1.5 MB of rows and gradients against 230 kB.
  const RowDemand wide{.ids = 10'000, .bags = 512, .elements = 10'240, .width = 17};
  CHECK(bytes_as_rows(wide) == 10'000 * (8 + 136));
  CHECK(bytes_as_bags(wide) == 80'000 + 81'920 + 512 * (4 + 136));
  CHECK(row_mode(wide) == RowMode::bags);

  // The same few ids in every example.
  CHECK(row_mode({.ids = 30, .bags = 512, .elements = 10'240, .width = 17}) == RowMode::rows);
  // One id in each: a sum is a row and more.
  CHECK(row_mode({.ids = 512, .bags = 512, .elements = 512, .width = 17}) == RowMode::rows);
  // Fewer bags than ids, but narrow rows: the elements cost more than they save.
  CHECK(row_mode({.ids = 600, .bags = 512, .elements = 1200, .width = 1}) == RowMode::rows);
  CHECK(row_mode({.ids = 600, .bags = 300, .elements = 600, .width = 17}) == RowMode::bags);
}

TEST_CASE("nothing, and what costs the same, goes as rows", "[rows]") {
  CHECK(row_mode({}) == RowMode::rows);
  // 8 * width * (ids - bags) = 8 * elements + 4 * bags, at 2 bags: 8 * 7 = 8 * 6 + 8.
  const RowDemand equal{.ids = 3, .bags = 2, .elements = 6, .width = 7};
  CHECK(bytes_as_bags(equal) == bytes_as_rows(equal));
  CHECK(row_mode(equal) == RowMode::rows);
}

}  // namespace trainyard::runtime

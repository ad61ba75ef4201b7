// Where rows live.
#include "runtime/core/row_layout.h"

#include <catch2/catch.hpp>
#include <vector>

namespace trainyard::runtime {

TEST_CASE("ids are mixed as SplitMix64 does, whose first numbers these are", "[row_layout]") {
  STATIC_REQUIRE(mix_id(0) == 0xE220A8397B1DCDAF);
  STATIC_REQUIRE(mix_id(1) == 0x910A2DEC89025CC1);
}

TEST_CASE("neighbouring rows are shared out evenly among the ps", "[row_layout]") {
  for (const std::int64_t owners : {1, 2, 3, 7}) {
    std::vector<int> rows(static_cast<std::size_t>(owners));
    for (std::int64_t id = 0; id < 7000; ++id) {
      ++rows.at(static_cast<std::size_t>(owner_of_row(id, owners)));
    }
    const double share = 7000.0 / static_cast<double>(owners);
    for (const int each : rows) CHECK(each == Approx(share).epsilon(0.1));
  }
}

TEST_CASE("a row is as wide as its variables together", "[row_layout]") {
  CHECK(RowLayout{}.width() == 0);
  CHECK(RowLayout{{{.name = "embedding", .columns = 8}, {.name = "bias", .columns = 1}}}.width() ==
        9);
  const RowLayout two{{{.name = "u", .columns = 8}, {.name = "i", .columns = 3, .table = 1}}};
  CHECK(two.tables() == 2);
  CHECK(two.width(0) == 8);
  CHECK(two.width(1) == 3);
}

TEST_CASE("a row's name is its table's number and its id there", "[row_layout]") {
  STATIC_REQUIRE(row_of(0, 12) == 12);
  STATIC_REQUIRE(table_of(row_of(3, table_ids_max - 1)) == 3);
  STATIC_REQUIRE(id_in_table(row_of(3, table_ids_max - 1)) == table_ids_max - 1);
}

}  // namespace trainyard::runtime

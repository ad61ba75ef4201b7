#include "runtime/math/rows/row_tables.h"

#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

const RowLayout two_tables{{{.name = "u/kernel", .columns = 3, .bound = 0.5},
                            {.name = "i/kernel", .columns = 2, .bound = 0.5, .table = 1},
                            {.name = "bias/kernel", .columns = 1, .bound = 0}}};

std::vector<float> read_rows(const RowTables& tables, const std::vector<std::int64_t>& rows) {
  std::vector<float> floats(static_cast<std::size_t>(tables.widths().floats(rows)));
  tables.read(rows, floats);
  return floats;
}

}  // namespace

TEST_CASE("the rows of two tables are as wide as their own variables", "[rows]") {
  const RowWidths widths(two_tables);
  CHECK(widths.tables() == 2);
  CHECK(widths.of(row_of(0, 7)) == 4);
  CHECK(widths.of(row_of(1, 7)) == 2);
  CHECK(widths.floats(std::vector{row_of(0, 1), row_of(0, 2), row_of(1, 2)}) == 10);
  CHECK(widths.has(row_of(1, table_ids_max - 1)));
  CHECK_FALSE(widths.has(row_of(2, 0)));
  CHECK_FALSE(widths.has(-1));
  CHECK(check_rows(std::vector{row_of(1, 5)}, widths).has_value());
  const Status none = check_rows(std::vector{row_of(0, 5), row_of(2, 5)}, widths);
  REQUIRE_FALSE(none.has_value());
  CHECK_THAT(none.error().message, Catch::Contains("none of 2 tables"));
}

TEST_CASE("a row starts by the number of its variable and its id in its own table", "[rows]") {
  const RowTables tables(two_tables, 7, {});
  const std::vector<float> rows = read_rows(tables, {row_of(0, 5), row_of(1, 5)});
  const RowTable alone({.variables = {two_tables.variables[0]}}, 7, {});
  std::vector<float> first(3);
  alone.read(std::vector<std::int64_t>{5}, first);
  CHECK(std::vector(rows.begin(), rows.begin() + 3) == first);
  CHECK(rows[3] == 0);
  CHECK(rows[4] != rows[0]);  // of another variable
}

TEST_CASE("tables that are learned together are as if each were learned alone", "[rows]") {
  const OptimizerConfig adam{.kind = OptimizerKind::adam};
  RowTables together(two_tables, 3, adam);
  RowTable users(two_tables, 3, adam, 0);
  RowTable items(two_tables, 3, adam, 1);
  RowTables fork = together.fork();
  for (std::int64_t step = 1; step <= 4; ++step) {
    const RowTable::Update update{.learning_rate = 0.1, .step = step, .gradient_scale = 0.5F};
    const std::vector<float> floats =
        random_floats(3 * 4 + 2 * 2, static_cast<std::uint64_t>(step));
    const std::vector<std::int64_t> ids{step, step + 3, step + 9};
    const std::vector<std::int64_t> others{2 * step, 2 * step + 1};
    RowGradients all{.ids = ids, .rows = floats};
    for (const std::int64_t id : others) all.ids.push_back(row_of(1, id));
    together.apply(all, update);
    users.apply({.ids = ids, .rows = {floats.begin(), floats.begin() + 12}}, update);
    items.apply({.ids = others, .rows = {floats.begin() + 12, floats.end()}}, update);
  }
  std::vector<float> expected(2 * 4);
  users.read(std::vector<std::int64_t>{4, 13}, expected);
  std::vector<float> of_items(2);
  items.read(std::vector<std::int64_t>{6}, of_items);
  expected.insert(expected.end(), of_items.begin(), of_items.end());
  const std::vector<std::int64_t> rows{4, 13, row_of(1, 6)};
  CHECK(read_rows(together, rows) == expected);
  CHECK(together.size() == users.size() + items.size());
  CHECK(read_rows(fork, rows) == read_rows(RowTables(two_tables, 3, adam), rows));
}

TEST_CASE("gradients of rows of two widths add up row by row, and go to their owners", "[rows]") {
  const RowWidths widths(two_tables);
  const RowGradients left{.ids = {2, row_of(1, 2)}, .rows = {1, 2, 3, 4, 10, 20}};
  const RowGradients right{.ids = {1, 2, row_of(1, 2), row_of(1, 3)},
                           .rows = {5, 5, 5, 5, 1, 1, 1, 1, 3, 3, 7, 8}};
  const RowGradients sum = add_rows(left, right, widths);
  CHECK(sum == RowGradients{.ids = {1, 2, row_of(1, 2), row_of(1, 3)},
                            .rows = {5, 5, 5, 5, 2, 3, 4, 5, 13, 23, 7, 8}});
  RowGradients joined;
  for (const RowGradients& share : split_by_owner(sum, 3, widths)) {
    joined = add_rows(joined, share, widths);
  }
  CHECK(joined == sum);
}

}  // namespace trainyard::runtime

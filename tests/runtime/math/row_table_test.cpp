#include "runtime/math/rows/row_table.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

namespace {

RowLayout layout_of(std::int64_t columns, double bound = 0.05) {
  return {.variables = {{.name = "wide", .columns = 1, .bound = 0},
                        {.name = "deep", .columns = columns, .bound = bound}}};
}

std::vector<float> read(const RowTable& table, const std::vector<std::int64_t>& ids) {
  std::vector<float> rows(ids.size() * static_cast<std::size_t>(table.width()));
  table.read(ids, rows);
  return rows;
}

RowGradients random_gradients(std::vector<std::int64_t> ids, std::int64_t width,
                              std::uint64_t seed) {
  RowGradients gradients{.ids = std::move(ids), .rows = {}};
  gradients.rows = random_floats(gradients.ids.size() * static_cast<std::size_t>(width), seed);
  return gradients;
}

OptimizerKind kind_of(const std::string& name) {
  if (name == "adagrad") return OptimizerKind::adagrad;
  return name == "adam" ? OptimizerKind::adam : OptimizerKind::sgd;
}

}  // namespace

TEST_CASE("a row starts as its id and the seed say, in whatever order rows are read", "[rows]") {
  const RowTable one(layout_of(16), 7, {});
  const RowTable two(layout_of(16), 7, {});
  const RowTable other_seed(layout_of(16), 8, {});
  const auto first = read(one, {5, 1'000'000'007, 3});
  const auto second = read(two, {3, 5, 1'000'000'007});
  const auto row = [](const std::vector<float>& rows, std::ptrdiff_t i) {
    return std::vector<float>(rows.begin() + 17 * i, rows.begin() + 17 * (i + 1));
  };
  CHECK(row(first, 0) == row(second, 1));
  CHECK(row(first, 1) == row(second, 2));
  CHECK(row(first, 2) == row(second, 0));
  CHECK(row(first, 0) != row(first, 1));
  CHECK(read(other_seed, {5}) != read(one, {5}));
  CHECK(first[0] == 0.0F);  // the wide part
  CHECK(one.size() == 0);   // reading makes no rows
}

TEST_CASE("rows start uniformly within their bound", "[rows]") {
  const RowTable table(layout_of(10, 0.5), 1, {});
  std::vector<std::int64_t> ids(2000);
  std::iota(ids.begin(), ids.end(), 0);
  double sum = 0;
  double squares = 0;
  std::size_t count = 0;
  for (const float value : read(table, ids)) {
    REQUIRE(std::fabs(value) <= 0.5F);
    if (value == 0.0F) continue;
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
    ++count;
  }
  CHECK(count > 19'990);
  CHECK(sum / 20'000 == Approx(0).margin(0.01));
  CHECK(squares / 20'000 == Approx(1.0 / 12).epsilon(0.03));  // the variance of U(-0.5, 0.5)
}

TEST_CASE("sparse optimizers give PyTorch's numbers", "[rows][golden]") {
  const auto golden = load_golden("sparse.json");
  for (const auto& reference : golden.at("row_optimizers")) {
    INFO(reference["name"]);
    const OptimizerConfig optimizer{.kind = kind_of(reference["name"])};
    RowTable table({.variables = {{.name = "t", .columns = 3, .bound = 0}}}, 1, optimizer);
    const std::vector<float> start = reference["start"];
    for (std::int64_t id = 0; id < 6; ++id) {
      std::vector<float> row(table.stride());
      std::copy_n(start.begin() + 3 * id, 3, row.begin());
      table.put(id, row);
    }
    for (std::size_t step = 0; step < 10; ++step) {
      table.apply({.ids = reference["ids"][step], .rows = reference["gradients"][step]},
                  {.learning_rate = 0.1, .step = static_cast<std::int64_t>(step) + 1});
      require_close(read(table, {0, 1, 2, 3, 4, 5}),
                    reference["weights"][step].get<std::vector<float>>(), 3e-6);
    }
  }
}

TEST_CASE("every optimizer changes the rows it is given as it would a dense range, and no others",
          "[rows]") {
  using enum OptimizerKind;
  for (const OptimizerKind kind :
       {sgd, momentum, nesterov, adagrad, rmsprop, adadelta, adam, adamw}) {
    INFO("optimizer " << static_cast<int>(kind));
    const OptimizerConfig optimizer{.kind = kind, .weight_decay = 0.1F};
    RowTable table(layout_of(4), 3, optimizer);
    std::vector<std::int64_t> ids(700);  // more than one call of the optimizer takes
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = 11 * static_cast<std::int64_t>(i);
    std::vector<float> weights = read(table, ids);
    const auto untouched = read(table, {1, 12});
    std::vector<std::vector<float>> slots(slot_names(kind).size(),
                                          std::vector<float>(weights.size()));
    const std::vector<std::span<float>> spans(slots.begin(), slots.end());
    for (std::int64_t step = 1; step <= 4; ++step) {
      const RowGradients gradients =
          random_gradients(ids, table.width(), static_cast<std::uint64_t>(step));
      table.apply(gradients, {.learning_rate = 0.02, .step = step, .gradient_scale = 0.5F});
      apply_update(optimizer, 0.02, step, 0.5F, gradients.rows, weights, weights, spans);
    }
    require_same_bits(read(table, ids), weights);
    require_same_bits(read(table, {1, 12}), untouched);
    CHECK(table.size() == ids.size());
  }
}

TEST_CASE("a fork stays as it was, and so does the table whose fork is changed", "[rows]") {
  RowTable table(layout_of(4), 3, {.kind = OptimizerKind::adagrad});
  std::vector<std::int64_t> ids(3000);  // several blocks
  std::iota(ids.begin(), ids.end(), 0);
  table.apply(random_gradients(ids, 5, 1), {.learning_rate = 0.1});
  const auto before = read(table, ids);

  RowTable fork = table.fork();
  table.apply(random_gradients({5, 2999, 4000}, 5, 2), {.learning_rate = 0.1});
  require_same_bits(read(fork, ids), before);
  CHECK(fork.size() == 3000);
  CHECK(table.size() == 3001);
  const auto after = read(table, ids);
  CHECK(after != before);

  fork.apply(random_gradients({6, 5000, 5001}, 5, 3), {.learning_rate = 0.1});
  require_same_bits(read(table, ids), after);
  CHECK(fork.size() == 3002);
}

TEST_CASE("a change can say what was before, of new rows and of those that a fork has", "[rows]") {
  for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adam}) {
    RowTable table(layout_of(16), 7, {.kind = kind});
    std::vector<std::int64_t> ids(700);
    std::iota(ids.begin(), ids.end(), 0);
    table.apply(random_gradients(ids, 17, 1), {.learning_rate = 0.1});
    auto fork = std::make_unique<RowTable>(table.fork());
    for (std::int64_t& id : ids) id = 2 * id + 1;  // some are there, some are not
    const std::vector<float> expected = read(table, ids);
    std::vector<float> before(expected.size());
    table.apply(random_gradients(ids, 17, 2), {.learning_rate = 0.1, .step = 2}, before);
    CHECK(before == expected);
    CHECK(read(table, ids) != expected);
    CHECK(read(*fork, ids) == expected);
    const std::vector<float> after = read(table, ids);
    fork.reset();
    table.apply(random_gradients({9'999}, 17, 3), {.learning_rate = 0.1, .step = 3});
    CHECK(read(table, ids) == after);
  }
}

TEST_CASE("a fork is read though its table is gone", "[rows]") {
  auto table = std::make_unique<RowTable>(layout_of(16), 7, OptimizerConfig{});
  std::vector<std::int64_t> ids(3000);
  std::iota(ids.begin(), ids.end(), 0);
  table->apply(random_gradients(ids, 17, 1), {.learning_rate = 0.1});
  const std::vector<float> expected = read(*table, ids);
  const RowTable fork = table->fork();
  table.reset();
  CHECK(read(fork, ids) == expected);
}

TEST_CASE("the rows of a table go into another as they are, by ascending id", "[rows]") {
  RowTable table(layout_of(4), 3, {.kind = OptimizerKind::adam});
  for (std::int64_t step = 1; step <= 3; ++step) {
    table.apply(random_gradients({7 + step, 20, 1 << 20}, 5, 4 + static_cast<std::uint64_t>(step)),
                {.learning_rate = 0.1, .step = step});
  }
  const auto stored = table.stored();
  REQUIRE(stored.size() == 5);
  CHECK(std::ranges::is_sorted(stored, {}, &RowTable::Stored::id));
  RowTable copy(layout_of(4), 3, {.kind = OptimizerKind::adam});
  for (const auto& row : stored) copy.put(row.id, {row.floats, table.stride()});
  const RowGradients more = random_gradients({7, 8, 9, 10}, 5, 9);
  table.apply(more, {.learning_rate = 0.1, .step = 4});
  copy.apply(more, {.learning_rate = 0.1, .step = 4});
  require_same_bits(read(copy, {7, 8, 9, 10, 1 << 20}), read(table, {7, 8, 9, 10, 1 << 20}));
}

TEST_CASE("an index of many ids finds each of them and no other", "[rows]") {
  RowIndex index;
  CHECK_FALSE(index.find(3));
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    REQUIRE(index.find_or_add(std::int64_t{i} * 1'000'003, i) == i);
  }
  CHECK(index.size() == 50'000);
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    REQUIRE(index.find(std::int64_t{i} * 1'000'003) == i);
    REQUIRE(index.find_or_add(std::int64_t{i} * 1'000'003, 99) == i);
    REQUIRE_FALSE(index.find(std::int64_t{i} * 1'000'003 + 1));
  }
}

}  // namespace trainyard::runtime

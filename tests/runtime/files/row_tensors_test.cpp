// Rows of an embedding table in checkpoints: written by any number of ps, read by any other.
#include "runtime/files/row_tensors.h"

#include <catch2/catch.hpp>
#include <limits>

#include "runtime/core/counter_rng.h"
#include "runtime/files/manifest_file.h"
#include "runtime/files/shard_file.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {
namespace {

const std::vector<Variable> dense_variables{
    {.name = "dense_0/bias", .shape = {3}, .offset = 0, .elements = 3}};
const std::vector<std::string> adam_slots{"m", "v"};
const RowLayout layout{.variables = {{.name = "wide/kernel", .columns = 1, .bound = 0},
                                     {.name = "embedding/kernel", .columns = 4, .bound = 0.1},
                                     {.name = "item/kernel", .columns = 2, .table = 1}}};
constexpr std::int64_t id_count = 9000;  // more than are read at once

RowTables empty() { return {layout, 3, {.kind = OptimizerKind::adam}}; }

// Of all the ids that ps `owner` of `owners` holds, learned for two steps.
RowTables learned(std::int64_t owner, std::int64_t owners) {
  RowTables table = empty();
  for (std::int64_t step = 1; step <= 2; ++step) {
    RowGradients gradients;
    for (std::int64_t id = step; id < id_count * 3; id += 3) {
      if (owner_of_row(id, owners) != owner) continue;
      gradients.ids.push_back(id);
      const CounterRng rng(static_cast<std::uint64_t>(id), RngStream::synthetic);
      for (std::uint64_t i = 0; i < 5; ++i) {
        gradients.rows.push_back(static_cast<float>(rng.normal(i)));
      }
    }
    for (std::int64_t id = 0; id < 50; ++id) {
      if (owner_of_row(row_of(1, id), owners) != owner) continue;
      gradients.ids.push_back(row_of(1, id));
      for (int i = 0; i < 2; ++i) gradients.rows.push_back(static_cast<float>(id + i));
    }
    table.apply(gradients, {.learning_rate = 0.1, .step = step});
  }
  return table;
}

Result<ArtifactFile> write(const TempFolder& folder, const RowTables& table, std::int64_t index,
                           std::int64_t count) {
  // The arena's share is the first ps' alone.
  const Share share{.ranges = index == 0 ? std::vector<Range>{{0, 3}} : std::vector<Range>{}};
  const std::vector<float> weights(index == 0 ? 3 : 0, 1.5F);
  const std::vector<std::span<const float>> slots{weights, weights};
  return write_shard(folder.path(), shard_name(7, index + 1, count),
                     {.variables = dense_variables,
                      .share = share,
                      .weights = weights,
                      .slot_names = adam_slots,
                      .slots = slots,
                      .rows = &table});
}

std::vector<ArtifactFile> write_all(const TempFolder& folder, std::int64_t count) {
  std::vector<ArtifactFile> files;
  for (std::int64_t index = 0; index < count; ++index) {
    auto file = write(folder, learned(index, count), index, count);
    REQUIRE(file.has_value());
    files.push_back(*file);
  }
  return files;
}

void require_same(const RowTables& got, const RowTables& expected) {
  for (const std::int64_t table : {0, 1}) {
    const auto ours = got.table(table).stored();
    const auto theirs = expected.table(table).stored();
    const std::size_t stride = expected.table(table).stride();
    REQUIRE(ours.size() == theirs.size());
    REQUIRE(got.table(table).stride() == stride);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      REQUIRE(ours[i].id == theirs[i].id);
      REQUIRE(std::equal(ours[i].floats, ours[i].floats + stride, theirs[i].floats));
    }
  }
}

}  // namespace

TEST_CASE("rows that some ps wrote any number of ps can read, with their slots", "[checkpoint]") {
  for (const std::int64_t written : {1, 2, 3}) {
    const TempFolder folder;
    const auto files = write_all(folder, written);
    for (const std::int64_t owners : {1, 2, 4}) {
      for (std::int64_t owner = 0; owner < owners; ++owner) {
        INFO(written << " wrote, " << owner << " of " << owners << " reads");
        RowTables table = empty();
        REQUIRE(restore_rows({.folder = folder.path(),
                              .files = files,
                              .slot_names = adam_slots,
                              .owner = owner,
                              .owners = owners},
                             table)
                    .has_value());
        require_same(table, learned(owner, owners));
      }
    }
    const auto arena = restore_share({.folder = folder.path(),
                                      .files = files,
                                      .variables = dense_variables,
                                      .share = Share{.ranges = {{0, 3}}},
                                      .slot_names = adam_slots});
    REQUIRE(arena.has_value());  // the tensors of rows are not in its way
    CHECK(arena->weights.span()[2] == 1.5F);
  }
}

TEST_CASE("one state of a table gives one sha256, in whatever order its rows were learned",
          "[checkpoint]") {
  RowTables forward = empty();
  RowTables backward = empty();
  for (std::int64_t i = 0; i < 3000; ++i) {
    const std::vector<float> up(forward.table(0).stride(), static_cast<float>(i));
    const std::vector<float> down(forward.table(0).stride(), static_cast<float>(2999 - i));
    forward.table(0).put(i, up);
    backward.table(0).put(2999 - i, down);
  }
  const TempFolder one;
  const TempFolder two;
  CHECK(write(one, forward, 0, 1)->sha256 == write(two, backward, 0, 1)->sha256);
}

TEST_CASE("a row that is no number is never saved, and rows of another model are refused",
          "[checkpoint]") {
  const TempFolder folder;
  RowTables bad = empty();
  std::vector<float> row(bad.table(0).stride(), 1.0F);
  row[3] = std::numeric_limits<float>::infinity();
  bad.table(0).put(4, row);
  const auto refused = write(folder, bad, 0, 1);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Code::invalid);

  const auto files = write_all(folder, 1);
  RowTables wider({.variables = {{.name = "wide/kernel", .columns = 2, .bound = 0}}}, 3,
                  {.kind = OptimizerKind::adam});
  const RowRestore request{.folder = folder.path(), .files = files, .slot_names = adam_slots};
  const Status other = restore_rows(request, wider);
  REQUIRE_FALSE(other.has_value());
  CHECK_THAT(other.error().message, Catch::Contains("wide/kernel"));

  Manifest manifest;
  manifest.variables = {{"dense_0/bias", {3}}};
  manifest.slots = adam_slots;
  CHECK_FALSE(check_fits(manifest, dense_variables, adam_slots, layout).has_value());
  manifest.rows = {{"wide/kernel", {1}}, {"embedding/kernel", {4}}, {"item/kernel", {2}}};
  CHECK_FALSE(check_fits(manifest, dense_variables, adam_slots, layout).has_value());
  manifest.rows.back().table = 1;
  CHECK(check_fits(manifest, dense_variables, adam_slots, layout).has_value());
  CHECK_FALSE(check_fits(manifest, dense_variables, adam_slots).has_value());
}

}  // namespace trainyard::runtime

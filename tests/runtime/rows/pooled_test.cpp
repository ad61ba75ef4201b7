// Async: batches of which a ps gives out rows or sums of them, over real gRPC.
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/core/row_mode.h"
#include "schemas/base/index.h"
#include "tests/runtime/math/floats.h"
#include "tests/runtime/rows/row_scene.h"

namespace trainyard::runtime {
namespace {

using namespace test;  // NOLINT: what this is made of
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t examples = 12;
constexpr std::int64_t steps = 5;

RowScene async_scene(std::int64_t servers, std::int64_t ranks = 1) {
  return {.mode = Mode::async, .servers = servers, .ranks = ranks, .leaves = ranks, .width = 6};
}

// A batch of each example some ids: 20 of its own, or the same 3 for all.
struct Batch {
  Ids ids;
  SparseRows x{.offsets = {0}, .columns = {}, .values = {}};  // columns are places in ids

  Batch(std::int64_t step, bool own) {
    const std::int64_t each = own ? 20 : 3;
    for (std::int64_t i = 0; i < (own ? examples * each : each); ++i) ids.push_back(5 * i + step);
    for (std::int64_t example = 0; example < examples; ++example) {
      for (std::int64_t i = 0; i < each; ++i) {
        x.columns.push_back(static_cast<std::int32_t>(own ? example * each + i : i));
        x.values.push_back(0.25F * static_cast<float>(1 + (example + i) % 5));
      }
      x.offsets.push_back(std::ssize(x.columns));
    }
  }
  [[nodiscard]] BagView view() const { return {ids, x.view(), x.columns}; }
};

// Of the sums of the batch's examples.
std::vector<float> gradient_of(const std::vector<float>& sums) {
  std::vector<float> gradient = sums;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = 0.3F * sums[i] + 0.1F * static_cast<float>(1 + i % 7);
  }
  return gradient;
}

enum class By { rows, bags };

Result<Traffic> read_and_push(RowClient& client, std::int64_t width, const Batch& batch,
                              const RowClient::Push& push, By by) {
  if (by == By::bags) {
    TRY_ASSIGN(auto read, client.read_bags(batch.view()));
    const PooledBags& pooled = read.bags;
    const auto gradient = gradient_of(pool_bags(pooled.x, pooled.vectors, width));
    const Ids vectors(pooled.vectors.size() / index_of(width));
    TRY_ASSIGN(const auto pushed,
               client.push_bags(push, spread_bags(vectors, pooled.x, gradient, width).rows));
    read.traffic += pushed;
    return read.traffic;
  }
  std::vector<float> rows(batch.ids.size() * index_of(width));
  TRY_ASSIGN(auto traffic, client.read(std::nullopt, batch.ids, rows));
  const auto gradient = gradient_of(pool_bags(batch.x, rows, width));
  TRY_ASSIGN(const auto pushed,
             client.push(push, {spread_bags(batch.ids, batch.x, gradient, width)}));
  traffic += pushed;
  return traffic;
}

struct Ended {
  std::vector<float> rows;
  Traffic traffic;  // of the steps
};

// At the step `replaced` another process takes the place of one that has pushed its rows.
Ended train(std::int64_t servers, bool own, By by, std::int64_t replaced = 0) {
  RowServers gang(async_scene(servers));
  const std::int64_t width = gang.scene().width;
  std::unique_ptr<RowClient> client = gang.connect(0, 1);
  Ended ended;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const Batch batch(step % 2, own);
    if (step == replaced) {
      REQUIRE(read_and_push(*client, width, batch, {.step = step}, by).has_value());
      client = gang.connect(0, 2);
    }
    const auto moved = read_and_push(*client, width, batch, {.step = step}, by);
    if (!moved.has_value()) FAIL(moved.error().message);
    ended.traffic += *moved;
  }
  Ids all;
  for (std::int64_t id = 0; id < 5 * examples * 20; ++id) all.push_back(id);
  ended.rows.resize(all.size() * index_of(width));
  REQUIRE(client->read(std::nullopt, all, ended.rows).has_value());
  return ended;
}

}  // namespace

TEST_CASE("rows are learned alike, as rows and as sums, on any number of ps") {
  for (const bool own : {true, false}) {
    for (const std::int64_t servers : {1, 2, 3}) {
      INFO((own ? "many ids, " : "few ids, ") << servers << " ps");
      const Ended by_rows = train(servers, own, By::rows);
      const Ended by_bags = train(servers, own, By::bags);
      require_close(by_bags.rows, by_rows.rows, 1e-4);
      CHECK(by_rows.traffic.pooled == 0);
      CHECK(by_bags.traffic.pooled == (own ? steps * servers : 0));
      const std::int64_t of_rows = by_rows.traffic.sent + by_rows.traffic.received;
      const std::int64_t of_bags = by_bags.traffic.sent + by_bags.traffic.received;
      const std::int64_t ids = own ? 20 * examples : 3;
      // Of a batch ids go once, whatever comes of them.
      if (!own) CHECK(of_rows - of_bags == steps * ids * 8);
      if (own && servers == 1) {
        const RowDemand demand{.ids = ids, .bags = examples, .elements = ids, .width = 6};
        CHECK(of_bags == steps * bytes_as_bags(demand));
        CHECK(of_rows == steps * (bytes_as_rows(demand) + ids * 8));
      }
    }
  }
}

TEST_CASE("a worker that comes again after its rows were taken is not counted twice") {
  for (const By by : {By::rows, By::bags}) {
    CHECK(train(2, true, by, 3).rows == train(2, true, by).rows);
  }
}

TEST_CASE("a batch without ids, or without ids of a ps, is a push all the same") {
  RowServers gang(async_scene(3));
  const auto client = gang.connect(0);
  const SparseRows none{.offsets = {0, 0}, .columns = {}, .values = {}};
  const auto empty = client->read_bags({{}, none.view(), {}});
  REQUIRE(empty.has_value());
  CHECK(empty->bags.vectors.empty());
  REQUIRE(client->push_bags({.step = 1}, {}).has_value());

  const SparseRows one{.offsets = {0, 1}, .columns = {0}, .values = {1}};
  REQUIRE(client->read_bags({Ids{7}, one.view(), one.columns}).has_value());
  REQUIRE(client->push_bags({.step = 2}, std::vector<float>(6, 1)).has_value());
  for (std::size_t ps = 0; ps < 3; ++ps) CHECK(gang.of(ps).version() == 2);
}

TEST_CASE("a cut of two workers that push at once holds the same pushes of each on every ps") {
  const std::int64_t servers = 2;
  RowServers gang(async_scene(servers, 2));
  constexpr std::int64_t pushes = 30;
  constexpr std::int64_t id = 9;
  // Each pushes into rows of its own, whose numbers say how many pushes they have seen.
  std::vector<std::jthread> threads;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&gang, rank] {
      const auto client = gang.connect(rank);
      Ids ids;
      for (std::int64_t i = 0; i < 20; ++i) ids.push_back(id + 1000 * rank + i);
      const std::vector<float> ones(ids.size() * 6, 1);
      for (std::int64_t step = 1; step <= pushes; ++step) {
        const std::int64_t mark = step == 7 + 9 * rank ? 40 : 0;
        const auto pushed =
            client->push({.step = step, .snapshot = mark}, {{.ids = ids, .rows = ones}});
        if (!pushed.has_value()) throw std::runtime_error(pushed.error().message);
      }
    });
  }
  threads.clear();
  const auto shares = gang.snapshots(40);
  REQUIRE(std::ssize(shares) == servers);
  // What one thread makes of so many pushes of a rank: adagrad's steps depend on their number
  // alone.
  for (const RowTables& share : shares) {
    for (const RowTable::Stored& stored : share.table(0).stored()) {
      const std::int64_t rank = stored.id / 1000;
      RowTables alone = first_table(gang.scene());
      for (std::int64_t step = 1; step <= 7 + 9 * rank; ++step) {
        alone.apply({.ids = {stored.id}, .rows = std::vector<float>(6, 1)},
                    {.learning_rate = step_of(gang.scene()).learning_rate,
                     .step = step,
                     .gradient_scale = step_of(gang.scene()).gradient_scale});
      }
      std::vector<float> expected(6);
      alone.read(Ids{stored.id}, expected);
      CHECK(std::vector<float>(stored.floats, stored.floats + 6) == expected);
    }
  }
}

TEST_CASE("batches are kept in asynchronous training alone") {
  RowServers gang({.servers = 1});
  const auto client = gang.connect(0);
  const auto refused = client->read_bags(Batch(1, true).view());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Code::invalid);
  CHECK_THAT(refused.error().message, Catch::Contains("asynchronous"));
}

}  // namespace trainyard::runtime

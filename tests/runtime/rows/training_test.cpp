// Tables learned over real gRPC, by threads that are workers, against what one thread makes.
#include <catch2/catch.hpp>
#include <thread>

#include "schemas/base/index.h"
#include "tests/runtime/chunks/shears.h"
#include "tests/runtime/rows/row_scene.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime {
namespace {

using namespace test;  // NOLINT: what this is made of

struct Life {
  std::int64_t from = 1;         // step that it begins with
  std::int64_t until = 0;        // and the last that it pushes; 0: of training
  std::int64_t snapshot_at = 0;  // of rank 0
};

// The rows in the end, as this worker reads them.
Result<std::vector<float>> work(const RowScene& scene, RowClient& client, std::int64_t rank,
                                const Life& life = {}) {
  const std::int64_t last = life.until == 0 ? scene.max_steps : life.until;
  for (std::int64_t step = life.from; step <= last; ++step) {
    TRY_ASSIGN(auto parts, compute(scene, client, rank, step));
    const bool marks = rank == 0 && step == life.snapshot_at;
    TRY(client.push({.step = step, .snapshot = marks ? step : 0}, std::move(parts)));
  }
  std::vector<float> rows(index_of(widths_of(scene).floats(all_rows(scene))));
  if (life.until == 0) TRY(client.read(scene.max_steps, all_rows(scene), rows));
  return rows;
}

void require_all_learn(const RowScene& scene, const std::vector<std::string>& ways = {}) {
  RowServers servers(scene);
  std::vector<Result<std::vector<float>>> ends(index_of(scene.ranks), internal("did not run"));
  std::vector<std::jthread> threads;
  for (std::int64_t rank = 0; rank < scene.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RowClient::Options options = servers.options(rank);
      for (std::size_t ps = 0; ps < ways.size(); ++ps) options.servers[ps].address = ways[ps];
      const auto client = RowClient::connect(std::move(options));
      if (!client.has_value()) return;
      ends[index_of(rank)] = work(scene, **client, rank, {.snapshot_at = 3});
    });
  }
  threads.clear();
  const auto expected = expected_rows(scene, scene.max_steps);
  for (const auto& end : ends) {
    if (!end.has_value()) FAIL(end.error().message);
    CHECK(*end == expected);
  }
  std::vector<RowTables> last;
  for (std::size_t ps = 0; ps < index_of(scene.servers); ++ps)
    last.push_back(servers.of(ps).copy());
  CHECK(rows_in(last) == expected);
  CHECK(std::ssize(servers.snapshots(3)) == scene.servers);
}

}  // namespace

TEST_CASE("rows are learned to the bits of one thread, by any number of workers and ps") {
  for (const std::int64_t servers : {1, 2, 3}) {
    for (const std::int64_t ranks : {1, 2, 3}) {
      INFO(servers << " ps, " << ranks << " workers");
      require_all_learn({.servers = servers,
                         .ranks = ranks,
                         .leaves = 6,
                         .optimizer = servers == 2 ? OptimizerKind::adam : OptimizerKind::adagrad,
                         .local = ranks == 2});
    }
  }
}

TEST_CASE("rows of two tables of different widths are learned to the bits of one thread") {
  for (const std::int64_t servers : {1, 3}) {
    INFO(servers << " ps");
    require_all_learn({.servers = servers,
                       .ranks = 2,
                       .leaves = 6,
                       .second_width = 3,
                       .optimizer = OptimizerKind::adam});
  }
}

TEST_CASE("connections that are cut in the middle of calls cost no row and no bit") {
  for (const int seed : {1, 2, 3}) {
    INFO("seed " << seed);
    const RowScene scene{.servers = 1, .width = 200};
    RowServers servers(scene);
    const Shears shears(servers.options(0).servers.front().address,
                        {.cuts = 6, .bytes_max = 30'000, .seed = seed});
    std::vector<Result<std::vector<float>>> ends(2, internal("did not run"));
    std::vector<std::jthread> threads;
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        RowClient::Options options = servers.options(rank);
        options.servers.front().address = shears.address();
        const auto client = RowClient::connect(std::move(options));
        if (client.has_value()) ends[index_of(rank)] = work(scene, **client, rank);
      });
    }
    threads.clear();
    CHECK(shears.cuts() > 0);
    for (const auto& end : ends) {
      if (!end.has_value()) FAIL(end.error().message);
      CHECK(*end == expected_rows(scene, scene.max_steps));
    }
  }
}

TEST_CASE("a worker that dies after its push computes the step again from the rows before it") {
  const RowScene scene{.servers = 2, .leaves = 4};
  RowServers servers(scene);
  const auto other = servers.connect(0);
  const auto first = servers.connect(1);
  REQUIRE(work(scene, *first, 1, {.until = 1}).has_value());
  REQUIRE(work(scene, *other, 0, {.until = 2}).has_value());
  REQUIRE(work(scene, *first, 1, {.from = 2, .until = 2}).has_value());
  CHECK(servers.of(0).version() == 2);

  // Its next process knows of version 1 alone: the rest of the step never came.
  const auto second = servers.connect(1, 2);
  std::optional<Result<std::vector<float>>> end;
  {
    const std::jthread back([&] { end = work(scene, *second, 1, {.from = 2}); });
    const auto others_end = work(scene, *other, 0, {.from = 3});
    REQUIRE(others_end.has_value());
    CHECK(*others_end == expected_rows(scene, scene.max_steps));
  }
  REQUIRE(end.has_value());
  REQUIRE(end->has_value());
  CHECK(**end == expected_rows(scene, scene.max_steps));

  const auto late = first->push({.step = 3}, {{}, {}});
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == Code::conflict);
  CHECK_THAT(late.error().message, Catch::Contains("later process"));
}

TEST_CASE("a worker that dies between two ps gives each its rows once") {
  const RowScene scene{.servers = 2, .leaves = 2};
  RowServers servers(scene);
  const auto other = servers.connect(0);
  REQUIRE(work(scene, *other, 0, {.until = 1}).has_value());
  // Of rank 1's step ps 0 has its share, ps 1 nothing.
  {
    const auto first = servers.connect(1);
    auto parts = compute(scene, *first, 1, 1);
    REQUIRE(parts.has_value());
    auto shares = split_by_owner(std::move(parts->front()), 2, scene.width);
    RowClient::Options to_one = servers.options(1);
    to_one.servers.resize(1);
    const auto half = RowClient::connect(std::move(to_one));
    REQUIRE(half.has_value());
    REQUIRE((*half)->push({.step = 1}, {std::move(shares.front())}).has_value());
  }
  CHECK(servers.of(0).version() == 1);
  CHECK(servers.of(1).version() == 0);

  std::optional<Result<std::vector<float>>> end;
  {
    const auto second = servers.connect(1, 2);
    const std::jthread back([&] { end = work(scene, *second, 1); });
    REQUIRE(work(scene, *other, 0, {.from = 2}).has_value());
  }
  REQUIRE((end && end->has_value()));
  CHECK(**end == expected_rows(scene, scene.max_steps));
}

TEST_CASE("a snapshot has the rows of its step, while training goes on") {
  const RowScene scene{.servers = 3, .ranks = 1, .leaves = 2};
  RowServers servers(scene);
  REQUIRE(work(scene, *servers.connect(0), 0, {.snapshot_at = 4}).has_value());
  std::map<std::size_t, RowTables> by_size;
  auto shares = servers.snapshots(4);
  REQUIRE(shares.size() == 3);
  CHECK(servers.snapshots(3).empty());
  // One worker: its calls go out together, so shares may come in any order.
  std::ranges::sort(shares, {}, [](const RowTables& share) {
    return owner_of_row(share.table(0).stored().front().id, 3);
  });
  CHECK(rows_in(shares) == expected_rows(scene, 4));
}

TEST_CASE("with backup workers a step is made of the rows of those that are named") {
  const RowScene scene{.made_of = RowStore::MadeOf::named_ranks,
                       .servers = 2,
                       .ranks = 3,
                       .leaves = 3,
                       .max_steps = 4};
  RowServers servers(scene);
  std::vector<std::unique_ptr<RowClient>> clients;
  for (std::int64_t rank = 0; rank < 3; ++rank) clients.push_back(servers.connect(rank));
  RowTables table = first_table(scene);
  for (std::int64_t step = 1; step <= scene.max_steps; ++step) {
    const std::vector<std::int64_t> named{step % 2, 2};
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      const bool is_late = step == 3 && rank != named[0] && rank != named[1];
      if (is_late) continue;
      auto parts = compute(scene, *clients[index_of(rank)], rank, step);
      REQUIRE(parts.has_value());
      REQUIRE(clients[index_of(rank)]->push({.step = step}, *std::move(parts)).has_value());
    }
    RowGradients sum;
    for (const std::int64_t rank : named) {
      const auto ids = ids_of(rank, step);
      std::vector<float> rows(ids.size() * index_of(scene.width));
      table.read(ids, rows);
      sum = add_rows(sum, leaf_gradient(rank, ids, rows), scene.width);
    }
    table.apply(sum, {.learning_rate = step_of(scene).learning_rate,
                      .step = step,
                      .gradient_scale = step_of(scene).gradient_scale});
    for (std::size_t ps = 0; ps < 2; ++ps) {
      REQUIRE(servers.of(ps).apply({.step = step, .ranks = named}).has_value());
    }
  }
  std::vector<float> rows(all_ids().size() * index_of(scene.width));
  REQUIRE(clients[1]->read(std::nullopt, all_ids(), rows).has_value());
  CHECK(rows == rows_in({table}));
}

TEST_CASE(
    "who waits for rows that nobody makes waits no longer than its limit, nor than its stop") {
  const RowScene scene;
  RowServers servers(scene);
  std::vector<float> rows(index_of(scene.width));
  RowClient::Options options = servers.options(0);
  options.limit = std::chrono::milliseconds(200);
  const auto hasty = RowClient::connect(options);
  REQUIRE(hasty.has_value());
  const auto read = (*hasty)->read(1, std::vector<std::int64_t>{3}, rows);
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code == Code::unavailable);

  std::stop_source stop;
  options = servers.options(1);
  options.stop = stop.get_token();
  const auto stopped = RowClient::connect(options);
  REQUIRE(stopped.has_value());
  std::optional<Code> code;
  {
    std::jthread waiter([&] {
      const auto end = (*stopped)->read(1, std::vector<std::int64_t>{3}, rows);
      if (!end.has_value()) code = end.error().code;
    });
    stop.request_stop();
  }
  CHECK(code == Code::unavailable);
}

TEST_CASE("a step's traffic is its ids, rows and gradients") {
  const RowScene scene{.servers = 3, .ranks = 1, .leaves = 1};
  RowServers servers(scene);
  const auto client = servers.connect(0);
  const std::vector<std::int64_t> ids{1, 2, 30, 31, 32, 90};
  std::vector<float> rows(ids.size() * index_of(scene.width));
  const auto read = client->read(0, ids, rows);
  REQUIRE(read.has_value());
  CHECK(read->sent == std::ssize(ids) * 8);
  CHECK(read->received == std::ssize(rows) * 4);
  const auto pushed = client->push({.step = 1}, {{.ids = ids, .rows = rows}});
  REQUIRE(pushed.has_value());
  CHECK(pushed->sent == std::ssize(ids) * 8 + std::ssize(rows) * 4);
  CHECK(pushed->received == 0);
}

}  // namespace trainyard::runtime

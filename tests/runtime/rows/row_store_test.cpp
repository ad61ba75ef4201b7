// The rules of a table's share by plain calls: one row that counts what was applied.
#include "runtime/net/rows/row_store.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using Ids = std::vector<std::int64_t>;
using Floats = std::vector<float>;

RowTables counting_table() {
  return {{.variables = {{.name = "row", .columns = 1, .bound = 0}}}, 1, {}};
}

// Row 3, which is -(the sum of what was pushed): plain descent of rate 1. Every rank has one part.
class Counter {
 public:
  explicit Counter(Mode mode, std::int64_t ranks,
                   RowStore::MadeOf made_of = RowStore::MadeOf::all_ranks,
                   const RowStore::Start& start = {})
      : store(rules(mode, ranks, made_of), start, counting_table()) {}

  // The code of the refusal; nothing where it was taken.
  std::optional<Code> push(std::int64_t rank, std::int64_t step, float value,
                           std::int64_t snapshot = 0, std::int64_t id = 3) {
    const Status taken = store.push({.rank = rank,
                                     .step = step,
                                     .snapshot = snapshot,
                                     .parts = {{.ids = {id}, .rows = {value}}}});
    return taken.has_value() ? std::nullopt : std::optional(taken.error().code);
  }
  // Of a reader that gets its answer at once.
  Result<Floats> read(std::optional<std::int64_t> version, Ids ids = {3}) {
    std::optional<Result<Floats>> answer;
    store.read({.rank = 0, .version = version, .ids = std::move(ids)},
               [&answer](Result<Floats> rows) { answer = std::move(rows); });
    REQUIRE(answer.has_value());
    return *answer;
  }
  float row(std::optional<std::int64_t> version = std::nullopt) { return read(version)->front(); }

  RowStore store;

 private:
  static RowStore::Rules rules(Mode mode, std::int64_t ranks, RowStore::MadeOf made_of) {
    const bool is_tree = mode == Mode::sync && made_of == RowStore::MadeOf::all_ranks;
    RowStore::Rules rules{.mode = mode, .made_of = made_of, .nodes = {}, .leaves = 1};
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      rules.nodes.push_back({is_tree ? Leaves{rank, rank + 1} : Leaves{0, 1}});
    }
    if (is_tree) rules.leaves = ranks;
    rules.step_at = [](std::int64_t) { return RowStore::Step{.learning_rate = 1}; };
    rules.floats_max = 100;
    return rules;
  }
};

float row_of(const RowTables& table) {
  Floats row(1);
  table.read(Ids{3}, row);
  return row.front();
}

}  // namespace

TEST_CASE("rows of a step count once, and make it when those of all ranks are in") {
  Counter counter(Mode::sync, 2);
  CHECK_FALSE(counter.push(0, 1, 2));
  CHECK_FALSE(counter.push(0, 1, 100));  // sent again
  CHECK(counter.store.version() == 0);
  CHECK(counter.row() == 0);
  CHECK_FALSE(counter.push(1, 1, 4));
  CHECK(counter.store.version() == 1);
  CHECK(counter.row() == -6);
  CHECK_FALSE(counter.push(1, 1, 100));  // of a step that is made
  CHECK(counter.push(0, 3, 100) == Code::conflict);
  CHECK(counter.push(0, 0, 100) == Code::conflict);
  CHECK_FALSE(counter.push(1, 2, 1));
  CHECK_FALSE(counter.push(0, 1, 100));  // long made
  CHECK_FALSE(counter.push(0, 2, 1));
  CHECK(counter.row() == -8);
}

TEST_CASE("a store goes on from the version that it began with") {
  Counter sync(Mode::sync, 1, RowStore::MadeOf::all_ranks, {.version = 7});
  CHECK(sync.push(0, 9, 1) == Code::conflict);
  CHECK_FALSE(sync.push(0, 7, 1, 7));
  CHECK(sync.store.take_snapshots().empty());  // it was restored from it
  CHECK(sync.row() == 0);
  CHECK_FALSE(sync.push(0, 8, 1));
  CHECK(sync.store.version() == 8);

  Counter async(Mode::async, 2, RowStore::MadeOf::all_ranks, {.version = 7, .rank_steps = {4, 3}});
  CHECK_FALSE(async.push(0, 4, 1));
  CHECK_FALSE(async.push(1, 4, 2));
  CHECK(async.row() == -2);
  CHECK(async.store.version() == 8);
}

TEST_CASE("the version before the newest can be read, and none before it") {
  Counter counter(Mode::sync, 1);
  CHECK(counter.read(-1).error().code == Code::conflict);
  CHECK_FALSE(counter.push(0, 1, 1));
  CHECK_FALSE(counter.push(0, 2, 2, 0, 5));  // another row
  CHECK(*counter.read(2, {5, 3, 4}) == Floats{-2, -1, 0});
  CHECK(*counter.read(1, {5, 3, 4}) == Floats{0, -1, 0});
  CHECK(counter.read(0).error().code == Code::conflict);
  CHECK(counter.read(4).error().code == Code::conflict);
  CHECK(*counter.read(std::nullopt, {}) == Floats{});
}

TEST_CASE("rows of a version that is made next are given when it is") {
  Counter counter(Mode::sync, 2);
  std::optional<Result<Floats>> early;
  std::optional<Result<Floats>> late;
  const auto into = [](auto& place) { return [&place](Result<Floats> rows) { place = rows; }; };
  counter.store.read({.rank = 1, .version = 1, .ids = {3}}, into(early));
  CHECK_FALSE(counter.push(0, 1, 1));
  counter.store.read({.rank = 1, .version = 1, .ids = {3, 4}}, into(late));
  REQUIRE(early.has_value());  // it waits no more, as another has come
  CHECK(early->error().code == Code::conflict);
  CHECK_FALSE(late.has_value());
  CHECK_FALSE(counter.push(1, 1, 1));
  REQUIRE(late.has_value());
  CHECK(**late == Floats{-2, 0});

  std::optional<Result<Floats>> last;
  counter.store.read({.rank = 0, .version = 2, .ids = {3}}, into(last));
  CHECK_FALSE(last.has_value());
  counter.store.close(unavailable("the end"));
  REQUIRE(last.has_value());
  CHECK(last->error() == unavailable("the end"));
  CHECK(counter.read(2).error() == unavailable("the end"));
  CHECK(counter.row(1) == -2);
}

TEST_CASE("rows that cannot be are refused, and count for nothing") {
  Counter counter(Mode::sync, 2);
  const auto code = [&](std::vector<RowGradients> parts) {
    const Status taken = counter.store.push({.rank = 0, .step = 1, .parts = std::move(parts)});
    return taken.has_value() ? std::nullopt : std::optional(taken.error().code);
  };
  CHECK(code({}) == Code::invalid);
  CHECK(code({{.ids = {-1}, .rows = {1}}}) == Code::invalid);
  CHECK(code({{.ids = {4, 4}, .rows = {1, 1}}}) == Code::invalid);
  CHECK(code({{.ids = {5, 4}, .rows = {1, 1}}}) == Code::invalid);
  CHECK(code({{.ids = {4}, .rows = {1, 1}}}) == Code::invalid);
  CHECK(code({{.ids = {4}, .rows = {1}}, {}}) == Code::invalid);
  CHECK(counter.push(2, 1, 1) == Code::invalid);
  CHECK(counter.push(-1, 1, 1) == Code::invalid);
  CHECK(counter.push(0, 1, 1, 2) == Code::conflict);  // a snapshot of another step
  CHECK(counter.push(0, 1, 1, -1) == Code::conflict);
  CHECK(counter.read(0, {-5}).error().code == Code::invalid);
  CHECK(counter.read(0, Ids(101, 3)).error().code == Code::invalid);
  CHECK(counter.read(0, Ids(100, 3))->size() == 100);
  CHECK(counter.store.awaits(0, 1).value());
  CHECK_FALSE(code({{}}));
  CHECK_FALSE(counter.store.awaits(0, 1).value());
}

TEST_CASE("a snapshot holds the table as the step made it that asked for it") {
  Counter counter(Mode::sync, 2);
  CHECK_FALSE(counter.push(0, 1, 1, 1));
  CHECK(counter.store.take_snapshots().empty());
  CHECK_FALSE(counter.push(1, 1, 1));
  const auto snapshots = counter.store.take_snapshots();
  REQUIRE(snapshots.size() == 1);
  CHECK(snapshots.front().step == 1);
  CHECK_FALSE(counter.push(0, 1, 1, 1));  // sent again: it is made once
  CHECK_FALSE(counter.push(0, 2, 1));
  CHECK_FALSE(counter.push(1, 2, 1));
  CHECK(counter.store.take_snapshots().empty());
  CHECK(row_of(snapshots.front().tables) == -2);
  CHECK(row_of(counter.store.copy()) == -4);
}

TEST_CASE("who sends a step's rows again may ask for its snapshot yet") {
  Counter counter(Mode::sync, 2);
  CHECK_FALSE(counter.push(0, 1, 1));
  CHECK_FALSE(counter.push(0, 1, 1, 1));  // before it is made
  CHECK_FALSE(counter.push(1, 1, 1));
  CHECK(counter.store.take_snapshots().size() == 1);
  CHECK_FALSE(counter.push(0, 2, 1));
  CHECK_FALSE(counter.push(1, 2, 1));
  CHECK_FALSE(counter.push(0, 2, 1, 2));  // after it
  const auto snapshots = counter.store.take_snapshots();
  REQUIRE(snapshots.size() == 1);
  CHECK(snapshots.front().step == 2);
  CHECK(row_of(snapshots.front().tables) == -4);
  CHECK_FALSE(counter.push(0, 1, 1, 1));  // long gone
  CHECK(counter.store.take_snapshots().empty());
}

TEST_CASE("a step of named ranks is made of their rows alone") {
  Counter counter(Mode::sync, 3, RowStore::MadeOf::named_ranks);
  CHECK_FALSE(counter.push(0, 1, 1));
  CHECK_FALSE(counter.push(1, 1, 10));
  CHECK_FALSE(counter.push(2, 1, 100));
  CHECK(counter.store.version() == 0);
  CHECK(counter.store.apply({.step = 2, .ranks = {0, 1}}).error().code == Code::conflict);
  CHECK(counter.store.apply({.step = 1, .ranks = {}}).error().code == Code::invalid);
  CHECK(counter.store.apply({.step = 1, .ranks = {1, 1}}).error().code == Code::invalid);
  CHECK(counter.store.apply({.step = 1, .ranks = {1, 3}}).error().code == Code::invalid);
  CHECK(counter.store.apply({.step = 1, .ranks = {0}, .snapshot = 2}).error().code ==
        Code::invalid);
  REQUIRE(counter.store.apply({.step = 1, .ranks = {0, 2}, .snapshot = 1}).has_value());
  CHECK(counter.row() == -101);
  CHECK(counter.store.take_snapshots().size() == 1);
  REQUIRE(counter.store.apply({.step = 1, .ranks = {1}}).has_value());  // told again
  CHECK(counter.row() == -101);

  CHECK_FALSE(counter.push(1, 1, 10));  // too late
  CHECK(counter.store.apply({.step = 2, .ranks = {1}}).error().code == Code::conflict);
  CHECK_FALSE(counter.push(1, 2, 10));
  REQUIRE(counter.store.apply({.step = 2, .ranks = {1}}).has_value());
  CHECK(counter.row() == -111);
  CHECK(counter.row(1) == -101);
  CHECK(counter.row(0) == -111);  // whose reader's gradient comes too late whatever it reads

  Counter all(Mode::sync, 1);
  CHECK(all.store.apply({.step = 1, .ranks = {0}}).error().code == Code::invalid);
}

TEST_CASE("async applies rows as they come, each once") {
  Counter counter(Mode::async, 2);
  CHECK_FALSE(counter.push(0, 1, 1));
  CHECK(counter.row() == -1);
  CHECK_FALSE(counter.push(0, 1, 100));
  CHECK(counter.push(0, 3, 100) == Code::conflict);
  CHECK_FALSE(counter.push(0, 2, 2));
  CHECK_FALSE(counter.push(1, 1, 4));
  CHECK(counter.row() == -7);
  CHECK(counter.store.version() == 3);
  CHECK(counter.read(3).error().code == Code::invalid);
}

TEST_CASE("a snapshot of async holds of each rank what it has pushed up to its mark") {
  Counter counter(Mode::async, 3);
  CHECK_FALSE(counter.push(0, 1, 1));
  CHECK_FALSE(counter.push(0, 2, 2, 10));  // marks
  CHECK_FALSE(counter.push(0, 3, 1000));   // not in it
  CHECK_FALSE(counter.push(1, 1, 4));
  CHECK_FALSE(counter.push(0, 4, 1000));
  CHECK_FALSE(counter.push(1, 2, 8, 10));
  CHECK_FALSE(counter.push(1, 3, 1000));
  CHECK(counter.store.take_snapshots().empty());
  CHECK_FALSE(counter.push(2, 1, 16, 10));
  const auto snapshots = counter.store.take_snapshots();
  REQUIRE(snapshots.size() == 1);
  CHECK(snapshots.front().step == 10);
  CHECK(row_of(snapshots.front().tables) == -31);
  CHECK(counter.row() == -3031);
  CHECK(counter.push(2, 2, 1, 9) == Code::conflict);  // older than one that has begun
}

TEST_CASE("a rank that has ended, or sends its mark again, holds up no snapshot") {
  Counter counter(Mode::async, 3);
  CHECK_FALSE(counter.push(2, 1, 1));
  counter.store.end(2, 0);
  CHECK_FALSE(counter.push(0, 1, 2, 5));
  CHECK_FALSE(counter.push(1, 1, 4));
  CHECK_FALSE(counter.push(1, 1, 4, 5));  // an earlier process of it knew of no mark
  const auto first = counter.store.take_snapshots();
  REQUIRE(first.size() == 1);
  CHECK(row_of(first.front().tables) == -7);

  CHECK_FALSE(counter.push(0, 2, 8, 6));
  CHECK_FALSE(counter.push(0, 2, 8, 6));
  counter.store.end(1, 6);
  CHECK(counter.store.take_snapshots().size() == 1);
  counter.store.end(0, 7);  // which nobody else can mark
  CHECK(counter.store.take_snapshots().size() == 1);
}

TEST_CASE("a mark that comes again with older rows than the newest is none") {
  Counter counter(Mode::async, 2);
  CHECK_FALSE(counter.push(0, 1, 1));
  CHECK_FALSE(counter.push(0, 2, 2));
  CHECK_FALSE(counter.push(1, 1, 4, 5));
  CHECK_FALSE(counter.push(0, 1, 1, 5));
  CHECK(counter.store.take_snapshots().empty());
  CHECK_FALSE(counter.push(0, 3, 8, 5));
  const auto snapshots = counter.store.take_snapshots();
  REQUIRE(snapshots.size() == 1);
  CHECK(row_of(snapshots.front().tables) == -15);
}

TEST_CASE("a later snapshot takes the place of one that never became whole") {
  Counter counter(Mode::async, 2);
  CHECK_FALSE(counter.push(0, 1, 1, 5));
  CHECK_FALSE(counter.push(0, 2, 2, 6));
  CHECK_FALSE(counter.push(1, 1, 4, 6));
  const auto snapshots = counter.store.take_snapshots();
  REQUIRE(snapshots.size() == 1);
  CHECK(snapshots.front().step == 6);
  CHECK(row_of(snapshots.front().tables) == -7);
}

}  // namespace trainyard::runtime

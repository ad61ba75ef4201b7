// Steps of which the end is summed and applied before all their gradients are whole.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/net/aggregator.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t ranks = 3;
constexpr std::int64_t elements = 20'000;
const Share whole{.ranges = {{0, elements}}};
constexpr OptimizerConfig adam{.kind = OptimizerKind::adam};

using Gradient = std::vector<float>;

Gradient gradient_of(std::int64_t rank, std::int64_t step) {
  Gradient gradient(elements);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = std::sin(static_cast<float>(static_cast<std::int64_t>(i) + 31 * rank + 7 * step));
  }
  return gradient;
}

Aggregator::Rules sync_rules() {
  return {.gate = {.mode = Mode::sync, .ranks = ranks, .max_steps = 10},
          .optimizer = {},
          .share = whole,
          .tail_elements_min = 1000};
}

Aggregator::Rules rules_with_heirs() {
  Aggregator::Rules rules = sync_rules();
  rules.names_heirs = true;
  return rules;
}

// An aggregator of a sync job, and gradients in memory that its ranks still write.
class Desk {
 public:
  explicit Desk(const Aggregator::Rules& rules = sync_rules())
      : aggregator(rules, ParameterShard(adam, AlignedBuffer(elements), slots()), {},
                   [this](Snapshot snapshot) { snapshots.push_back(std::move(snapshot)); }) {
    memory.fill(Gradient(elements, -1e30F));
  }

  void begin(std::int64_t rank, std::int64_t step) {
    aggregator.begin(push_of(rank, step, step - 1));
  }
  // The gradient is final from here on.
  void release(std::int64_t rank, std::int64_t step, std::int64_t from) {
    write(rank, step, from);
    aggregator.release(rank, from);
  }
  void push(std::int64_t rank, std::int64_t step, std::int64_t snapshot = 0) {
    write(rank, step, 0);
    Push push = push_of(rank, step, step - 1);
    push.snapshot_step = snapshot;
    aggregator.push(std::move(push),
                    [](const Result<Answer>& answer) { CHECK(answer.has_value()); });
  }
  Push push_of(std::int64_t rank, std::int64_t step, std::int64_t base) {
    return {.rank = rank,
            .step = step,
            .base_version = base,
            .sums = {.examples = 10 + rank},
            .gradient = {.pieces = {std::as_bytes(std::span(at(rank)))}, .owner = nullptr}};
  }
  // As the next process of a rank finds its memory.
  void forget(std::int64_t rank) { at(rank).assign(elements, -1e30F); }

  std::array<Gradient, ranks> memory;
  std::vector<Snapshot> snapshots;
  Aggregator aggregator;

 private:
  static std::vector<AlignedBuffer> slots() {
    std::vector<AlignedBuffer> buffers;
    for (std::size_t i = 0; i < slot_names(adam.kind).size(); ++i) buffers.emplace_back(elements);
    return buffers;
  }
  Gradient& at(std::int64_t rank) { return memory.at(static_cast<std::size_t>(rank)); }
  void write(std::int64_t rank, std::int64_t step, std::int64_t from) {
    const Gradient made = gradient_of(rank, step);
    std::copy(made.begin() + from, made.end(), at(rank).begin() + from);
  }
};

// Weights and slots after three steps that were made of whole gradients.
const Snapshot& expected() {
  static Desk desk;
  for (std::int64_t step = 1; desk.snapshots.empty(); ++step) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) desk.push(rank, step, step == 3 ? 3 : 0);
  }
  return desk.snapshots.front();
}

void check_same(const Snapshot& made) {
  CHECK(made.version == 3);
  CHECK(std::ranges::equal(made.weights->span(), expected().weights->span()));
  REQUIRE(made.slots->size() == expected().slots->size());
  for (std::size_t i = 0; i < made.slots->size(); ++i) {
    CHECK(std::ranges::equal((*made.slots)[i].span(), (*expected().slots)[i].span()));
  }
}

}  // namespace

TEST_CASE("a step whose end was updated ahead has the bits of any other", "[tails]") {
  Desk desk;
  for (std::int64_t step = 1; step <= 3; ++step) {
    const Weights before = desk.aggregator.weights();
    for (std::int64_t rank = 0; rank < ranks; ++rank) desk.begin(rank, step);
    for (const std::int64_t from : {15'000, 14'900, 7'003}) {
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        desk.release(rank, step, from + 10 * ((rank + step) % ranks));
      }
      CHECK(desk.aggregator.weights() == before);  // nobody sees it yet
    }
    for (const std::int64_t rank : {2, 0, 1}) desk.push(rank, step, step == 3 ? 3 : 0);
  }
  REQUIRE(desk.snapshots.size() == 1);
  check_same(desk.snapshots.front());
}

TEST_CASE("so it has where one of the ranks says nothing ahead", "[tails]") {
  Desk desk;
  for (std::int64_t step = 1; step <= 3; ++step) {
    desk.begin(0, step);
    desk.release(0, step, 100);
    desk.push(1, step);
    desk.begin(2, step);
    desk.release(2, step, 9'000);
    desk.release(2, step, 100);
    desk.push(0, step);
    desk.push(2, step, step == 3 ? 3 : 0);
  }
  REQUIRE(desk.snapshots.size() == 1);
  check_same(desk.snapshots.front());
}

TEST_CASE("who has begun is told what was updated ahead, whoever's gradient came last", "[tails]") {
  using Tail = Aggregator::Tail;
  Desk desk;
  std::vector<Tail> told;
  const auto note = [&told](const Tail& tail) { told.push_back(tail); };
  desk.aggregator.begin(desk.push_of(0, 1, 0), note);
  desk.release(0, 1, 12'000);
  desk.push(1, 1);
  CHECK(told.empty());
  desk.push(2, 1);
  REQUIRE(told.size() == 1);
  desk.release(0, 1, 8'000);
  REQUIRE(told.size() == 2);
  const std::vector<float> ahead(told[1].weights->data() + 8'000,
                                 told[1].weights->data() + elements);
  desk.push(0, 1);
  REQUIRE(desk.aggregator.version() == 1);
  CHECK(told.size() == 2);
  CHECK(told[0].from == 12'000);
  CHECK(told[1].from == 8'000);
  for (const Tail& tail : told) {
    CHECK(tail.weights == desk.aggregator.weights());
  }
  CHECK(std::ranges::equal(ahead, desk.aggregator.weights()->span().subspan(8'000)));

  // Of the next step only who begins again is told, and nobody who has gone.
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    desk.aggregator.begin(desk.push_of(rank, 2, 1), rank == 1 ? note : Aggregator::TailSink());
  }
  desk.aggregator.miss(1);
  desk.begin(1, 2);
  for (std::int64_t rank = 0; rank < ranks; ++rank) desk.release(rank, 2, 5'000);
  CHECK(told.size() == 2);
}

TEST_CASE("a rank that dies when its end was summed is stood in for, to the same bits", "[tails]") {
  for (const bool comes_back : {false, true}) {
    Desk desk(rules_with_heirs());
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      desk.aggregator.pull({.rank = rank},
                           [](const Result<Answer>& answer) { CHECK(answer.has_value()); });
    }
    for (std::int64_t step = 1; step <= 3; ++step) {
      for (std::int64_t rank = 0; rank < ranks; ++rank) desk.begin(rank, step);
      for (std::int64_t rank = 0; rank < ranks; ++rank) desk.release(rank, step, 5'000);
      desk.aggregator.miss(1);
      desk.forget(1);
      if (comes_back) {
        desk.aggregator.pull({.rank = 1},
                             [](const Result<Answer>& answer) { CHECK(answer.has_value()); });
        desk.begin(1, step);
        desk.release(1, step, 12'000);
      }
      desk.push(0, step);
      desk.push(2, step, step == 3 ? 3 : 0);
      if (comes_back) {
        desk.push(1, step);
        continue;
      }
      const Gradient made = gradient_of(1, step);
      Push inherited = desk.push_of(1, step, step - 1);
      inherited.gradient.pieces = {std::as_bytes(std::span(made))};
      CHECK(desk.aggregator.inherit(std::move(inherited)).has_value());
    }
    REQUIRE(desk.snapshots.size() == 1);
    check_same(desk.snapshots.front());
  }
}

TEST_CASE("no checkpoint is of a step that is half made", "[tails]") {
  Desk desk;
  for (std::int64_t step = 1; step <= 2; ++step) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) desk.push(rank, step);
  }
  for (std::int64_t rank = 0; rank < ranks; ++rank) desk.begin(rank, 3);
  for (std::int64_t rank = 0; rank < ranks; ++rank) desk.release(rank, 3, 5'000);
  desk.aggregator.snapshot_at(1);
  CHECK(desk.snapshots.empty());
  for (std::int64_t rank = 0; rank < ranks; ++rank) desk.push(rank, 3);
  REQUIRE(desk.snapshots.size() == 1);
  CHECK(desk.snapshots.front().step == 1);
  check_same(desk.snapshots.front());
}

TEST_CASE("what is said ahead and cannot be is not listened to", "[tails]") {
  Desk desk;
  desk.aggregator.release(0, 0);  // of nothing
  desk.aggregator.release(-1, 0);
  desk.aggregator.release(ranks, 0);
  for (const auto& change : std::vector<std::function<void(Push&)>>{
           [](Push& push) { push.rank = ranks; }, [](Push& push) { push.rank = -1; },
           [](Push& push) { push.step = 2; }, [](Push& push) { push.base_version = 1; },
           [](Push& push) { push.sums.examples = 0; },
           [](Push& push) { push.gradient.pieces = {push.gradient.pieces[0].first(8)}; }}) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      Push push = desk.push_of(rank, 1, 0);
      change(push);
      desk.aggregator.begin(std::move(push));
      desk.aggregator.release(rank, 0);
    }
  }
  for (std::int64_t rank = 0; rank < ranks; ++rank) desk.begin(rank, 1);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    desk.aggregator.release(rank, elements);
    desk.aggregator.release(rank, -5);
  }
  for (std::int64_t step = 1; step <= 3; ++step) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) desk.push(rank, step, step == 3 ? 3 : 0);
  }
  REQUIRE(desk.snapshots.size() == 1);
  check_same(desk.snapshots.front());
}

// What was summed ahead shows where the gradient is another one in the end: no rank does this.
TEST_CASE("nothing is summed ahead where a gradient may not count in the end", "[tails]") {
  Aggregator::Rules backups = sync_rules();
  backups.backups = BackupSteps::Rules{.ranks = ranks, .aggregate = ranks - 1, .max_steps = 10};
  for (const auto& [rules, ahead] : {std::pair(sync_rules(), true), std::pair(backups, false)}) {
    Desk desk(rules);
    Desk plain(rules);
    for (std::int64_t rank = 0; rank < ranks; ++rank) desk.begin(rank, 1);
    for (std::int64_t rank = 0; rank < ranks; ++rank) desk.release(rank, 2, elements / 2);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      desk.push(rank, 1);
      plain.push(rank, 1);
    }
    const auto weights = desk.aggregator.weights()->span();
    const auto of_plain = plain.aggregator.weights()->span();
    CHECK(std::ranges::equal(weights.first(elements / 2), of_plain.first(elements / 2)));
    CHECK(std::ranges::equal(weights, of_plain) == !ahead);
  }
}

TEST_CASE("of one bit an element nothing is summed ahead, wherever it is said to be final",
          "[tails]") {
  Aggregator::Rules rules = sync_rules();
  rules.wire = Wire::onebit;
  rules.tail_elements_min = 1;
  Desk desk(rules);
  const auto bytes = static_cast<std::size_t>(gradient_bytes(Wire::onebit, whole));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    Push push = desk.push_of(rank, 1, 0);
    push.gradient.pieces = {push.gradient.pieces[0].first(bytes)};
    desk.aggregator.begin(std::move(push));
    desk.aggregator.release(rank, 13);  // where no byte begins
  }
  CHECK(std::ranges::count(desk.aggregator.weights()->span(), 0.0F) == elements);
}

}  // namespace trainyard::runtime

// The brain of a ps without a network.
#include "runtime/net/aggregator.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <limits>
#include <numeric>
#include <random>

#include "runtime/core/reduction_tree.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t count = 64;
const Share whole{.ranges = {{0, count}}};

AlignedBuffer gradient_of(std::int64_t rank, std::int64_t step) {
  AlignedBuffer gradient(count);
  for (std::size_t i = 0; i < count; ++i) {
    gradient.span()[i] =
        1.0F / static_cast<float>(3 * rank + 7 * (step % 1000) + static_cast<int>(i) + 1);
  }
  return gradient;
}

// An aggregator, the gradients it was given, and what it answered to each rank.
struct Desk {
  explicit Desk(VersionGate::Rules gate, Aggregator::Start start = {},
                std::optional<std::int64_t> max_staleness = {})
      : answers(static_cast<std::size_t>(gate.ranks)),
        aggregator({.gate = gate, .max_staleness = max_staleness, .optimizer = {}},
                   ParameterShard({}, AlignedBuffer(count), {}), std::move(start),
                   [this](Snapshot snapshot) { snapshots.push_back(std::move(snapshot)); }) {}

  Aggregator::Reply note(std::int64_t rank) {
    return [this, rank](Result<Answer> answer) {
      answers[static_cast<std::size_t>(rank) % answers.size()].push_back(std::move(answer));
    };
  }
  void push(std::int64_t rank, std::int64_t step, std::int64_t base = 0,
            std::int64_t snapshot = 0) {
    const AlignedBuffer& gradient = gradients.emplace_back(gradient_of(rank, step));
    aggregator.push({.rank = rank,
                     .step = step,
                     .base_version = base,
                     .sums = {.examples = 10, .loss_sum = 1.0, .correct = 5},
                     .snapshot_step = snapshot,
                     .gradient = payload_of(gradient.span(), whole)},
                    note(rank));
  }
  [[nodiscard]] std::vector<float> weights(std::int64_t rank) const {
    const auto& answer = answers[static_cast<std::size_t>(rank)].back();
    return {answer->weights->span().begin(), answer->weights->span().end()};
  }

  std::deque<AlignedBuffer> gradients;
  std::vector<std::vector<Result<Answer>>> answers;
  std::vector<Snapshot> snapshots;
  Aggregator aggregator;
};

constexpr VersionGate::Rules sync_of(std::int64_t ranks) {
  return {.mode = Mode::sync, .ranks = ranks, .max_steps = 100};
}
constexpr VersionGate::Rules async_of(std::int64_t ranks, std::int64_t max_steps = 100) {
  return {.mode = Mode::async, .ranks = ranks, .max_steps = max_steps};
}

}  // namespace

TEST_CASE("the order of arrival changes no bit of a sync step", "[aggregator]") {
  std::array<std::int64_t, 5> order{0, 1, 2, 3, 4};
  std::vector<float> expected;
  do {
    Desk desk(sync_of(5));
    for (const std::int64_t rank : order) desk.push(rank, 1);
    if (expected.empty()) expected = desk.weights(0);
    REQUIRE(desk.weights(4) == expected);
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("nobody is answered before the sync step has committed", "[aggregator]") {
  Desk desk(sync_of(2));
  desk.push(1, 1);
  CHECK(desk.answers[1].empty());
  desk.push(0, 1);
  REQUIRE(desk.answers[0].size() == 1);
  REQUIRE(desk.answers[1].size() == 1);
  CHECK(desk.answers[1][0]->version == 1);
  CHECK(desk.answers[1][0]->sums == BatchSums{.examples = 20, .loss_sum = 2.0, .correct = 10});
}

TEST_CASE("a push that comes twice is answered and changes nothing", "[aggregator]") {
  Desk once(sync_of(2));
  once.push(0, 1);
  once.push(1, 1);

  Desk twice(sync_of(2));
  twice.push(0, 1);
  twice.push(0, 1);  // before the commit: the newer call is answered in place of the older
  twice.push(1, 1);
  twice.push(1, 1);  // after the commit

  CHECK(twice.aggregator.version() == 1);
  CHECK(twice.answers[0].size() == 1);
  CHECK(twice.answers[1].size() == 2);
  CHECK(twice.weights(0) == once.weights(0));
  CHECK(twice.weights(1) == once.weights(0));
}

TEST_CASE("the mean is by examples, so that batches of unequal size are exact", "[aggregator]") {
  Desk desk(sync_of(1));
  const AlignedBuffer gradient = gradient_of(0, 1);
  desk.aggregator.push({.rank = 0,
                        .step = 1,
                        .sums = {.examples = 4},
                        .gradient = payload_of(gradient.span(), whole)},
                       desk.note(0));
  const float rate = static_cast<float>(OptimizerSpec{}.learning_rate);
  CHECK(desk.weights(0)[3] == Approx(-rate * gradient.span()[3] / 4));
}

TEST_CASE("micro-batches are added to the same bits by any number of ranks", "[aggregator]") {
  constexpr std::int64_t leaves = 12;
  std::vector<AlignedBuffer> gradients;
  for (std::int64_t leaf = 0; leaf < leaves; ++leaf) gradients.push_back(gradient_of(leaf, 1));
  const auto sum_of = [&](const auto& self, Leaves node) -> AlignedBuffer {
    AlignedBuffer sum(count);
    if (node.count() == 1) {
      std::ranges::copy(gradients[static_cast<std::size_t>(node.begin)].span(), sum.data());
      return sum;
    }
    const AlignedBuffer left = self(self, {node.begin, divide(node)});
    const AlignedBuffer right = self(self, {divide(node), node.end});
    for (std::size_t i = 0; i < count; ++i) sum.span()[i] = left.span()[i] + right.span()[i];
    return sum;
  };

  std::vector<float> expected;
  for (const std::int64_t ranks : {1, 2, 3, 4, 5, 12}) {
    INFO(ranks << " ranks");
    std::vector<float> weights;
    Aggregator aggregator({.gate = sync_of(ranks), .leaves = leaves, .optimizer = {}},
                          ParameterShard({}, AlignedBuffer(count), {}), {}, [](Snapshot) {});
    std::deque<AlignedBuffer> sums;
    for (std::int64_t rank = ranks; rank-- > 0;) {
      const auto roots = roots_of(leaves_of(rank, ranks, leaves), leaves);
      REQUIRE(aggregator.parts_of(rank) == std::ssize(roots));
      Payload payload;
      for (const Leaves& root : roots) {
        payload.pieces.push_back(std::as_bytes(sums.emplace_back(sum_of(sum_of, root)).span()));
      }
      aggregator.push({.rank = rank, .step = 1, .sums = {.examples = 1}, .gradient = payload},
                      [&weights](const Result<Answer>& answer) {
                        const auto given = answer->weights->span();
                        weights.assign(given.begin(), given.end());
                      });
    }
    // The mean is by the examples of all ranks; here each says 1.
    for (float& weight : weights) weight *= static_cast<float>(ranks);
    if (ranks == 1) expected = weights;
    if (std::has_single_bit(static_cast<std::uint64_t>(ranks))) CHECK(weights == expected);
    CHECK(weights.size() == count);
  }
}

TEST_CASE("async applies each push on arrival and counts its staleness", "[aggregator]") {
  Desk desk(async_of(2));
  desk.push(0, 1, 0);
  desk.push(0, 2, 1);
  desk.push(1, 1, 0);
  CHECK(desk.aggregator.version() == 3);
  CHECK(desk.answers[0][1]->sums.staleness == 0);
  CHECK(desk.answers[1][0]->sums.staleness == 2);
  CHECK(desk.answers[1][0]->sums.examples == 30);  // all it has not heard of yet
  desk.push(0, 3, 2);
  CHECK(desk.answers[0][2]->sums.staleness == 3);  // that of rank 1, and its own
}

TEST_CASE("all are told of the end once each rank has seen it or is lost", "[aggregator]") {
  Desk desk(async_of(3, 2));
  desk.push(0, 1);
  CHECK_FALSE(desk.aggregator.all_told());
  desk.push(0, 2);
  CHECK_FALSE(desk.aggregator.all_told());
  desk.aggregator.pull({.rank = 1}, desk.note(1));
  CHECK_FALSE(desk.aggregator.all_told());
  desk.aggregator.lose(2, "gone");
  CHECK(desk.aggregator.all_told());
}

TEST_CASE("a rank waits while it is further ahead of the slowest than it may be", "[aggregator]") {
  Desk desk(async_of(3), {}, 2);
  desk.push(0, 1, 0);
  desk.push(0, 2, 1);
  CHECK(desk.answers[0].size() == 2);
  desk.push(0, 3, 2);  // 3 steps ahead of ranks 1 and 2
  CHECK(desk.aggregator.version() == 3);
  CHECK(desk.answers[0].size() == 2);
  desk.push(1, 1, 0);
  CHECK(desk.answers[1].size() == 1);
  CHECK(desk.answers[0].size() == 2);
  desk.push(2, 1, 0);
  CHECK(desk.answers[0].size() == 3);
  CHECK(desk.answers[0][2]->version == 5);  // with all that came meanwhile
}

TEST_CASE("nobody waits for a rank that is lost, or once training is over", "[aggregator]") {
  Desk lost(async_of(2), {}, 1);
  lost.push(0, 1, 0);
  lost.push(0, 2, 1);
  CHECK(lost.answers[0].size() == 1);
  lost.aggregator.lose(1, "gone");
  CHECK(lost.answers[0].size() == 2);

  Desk over(async_of(2, 2), {}, 0);
  over.push(0, 1, 0);
  CHECK(over.answers[0].empty());
  over.push(1, 1, 0);
  CHECK(over.answers[0].size() == 1);
  CHECK(over.answers[1].size() == 1);
}

TEST_CASE("ranks that are restored at other steps are not behind", "[aggregator]") {
  Desk desk(async_of(2), {.version = 9, .rank_steps = {9, 0}}, 1);
  desk.push(0, 10, 9);
  CHECK(desk.answers[0].size() == 1);
  desk.push(0, 11, 10);
  CHECK(desk.answers[0].size() == 1);
  desk.push(1, 1, 9);
  CHECK(desk.answers[0].size() == 2);
}

TEST_CASE("a push after the last async step is not applied and its worker told", "[aggregator]") {
  Desk desk(async_of(2, 2));
  desk.push(0, 1);
  desk.push(0, 2);
  const std::vector<float> last = desk.weights(0);
  desk.push(1, 1);
  CHECK(desk.answers[1].back()->version == 2);
  CHECK(desk.weights(1) == last);
}

TEST_CASE("what cannot be is refused with a message that names it", "[aggregator]") {
  Desk desk(sync_of(2));
  desk.push(0, 5);
  CHECK(desk.answers[0].back().error().code == Code::conflict);
  desk.push(2, 1);
  CHECK(desk.answers[0].back().error() == invalid("rank 2 is not one of 2"));
  desk.aggregator.push({.rank = 0, .step = 1, .sums = {.examples = 1}, .gradient = {}},
                       desk.note(0));
  CHECK(desk.answers[0].back().error() == invalid("a gradient of 0 bytes, not 256"));
  CHECK(desk.aggregator.version() == 0);
}

TEST_CASE("when a sync rank is gone everybody is told", "[aggregator]") {
  Desk desk(sync_of(3));
  desk.push(0, 1);
  desk.aggregator.lose(2, "the worker of rank 2 is gone");
  REQUIRE(desk.answers[0].size() == 1);
  CHECK(desk.answers[0][0].error().code == Code::unavailable);
  desk.push(1, 1);
  CHECK(desk.answers[1][0].error().message == "the worker of rank 2 is gone");
}

TEST_CASE("a sync step waits for a rank that is missed, and is the same when it is back",
          "[aggregator]") {
  Desk undisturbed(sync_of(2));
  undisturbed.push(0, 1);
  undisturbed.push(1, 1);

  Desk desk(sync_of(2));
  desk.push(0, 1);
  desk.aggregator.miss(1);
  CHECK(desk.answers[0].empty());
  desk.aggregator.pull({.rank = 1}, desk.note(1));  // another process of the task: where are we?
  REQUIRE(desk.answers[1].size() == 1);
  CHECK(desk.answers[1][0]->version == 0);
  desk.push(1, 1);
  REQUIRE(desk.answers[0].size() == 1);
  CHECK(desk.weights(0) == undisturbed.weights(0));
}

TEST_CASE("what a process waited for, its successor has asked for anew", "[aggregator]") {
  Desk desk(sync_of(2));
  desk.aggregator.pull({.rank = 1, .at_least = 1}, desk.note(1));
  desk.aggregator.pull({.rank = 1}, desk.note(1));  // another process, before the first is missed
  CHECK(desk.answers[1].size() == 1);
  desk.push(0, 1);
  desk.push(1, 1);
  CHECK(desk.answers[1].size() == 2);
}

TEST_CASE("steps at the end of their range are refused", "[aggregator]") {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  Desk desk(sync_of(1));
  for (const std::int64_t step : {least, most}) {
    desk.push(0, step);
    CHECK(desk.answers[0].back().error().code == Code::conflict);
    desk.aggregator.pull({.rank = 0, .at_least = step, .exactly = true}, desk.note(0));
    CHECK(desk.answers[0].back().error().code == Code::conflict);
  }
}

TEST_CASE("a push that came before its rank was missed counts, and counts once", "[aggregator]") {
  Desk desk(sync_of(2));
  desk.push(1, 1);
  desk.aggregator.miss(1);
  desk.aggregator.pull({.rank = 1}, desk.note(1));
  desk.push(1, 1);  // the same batch again
  CHECK(desk.aggregator.version() == 0);
  desk.push(0, 1);
  CHECK(desk.aggregator.version() == 1);
  CHECK(desk.answers[0].back()->sums.examples == 20);
  CHECK(desk.answers[1].back()->version == 1);
}

TEST_CASE("a rank that is back is told of the end before the ps may go", "[aggregator]") {
  Desk desk({.mode = Mode::sync, .ranks = 2, .max_steps = 1});
  desk.aggregator.miss(1);
  desk.aggregator.pull({.rank = 1}, desk.note(1));
  desk.push(0, 1);
  CHECK_FALSE(desk.aggregator.all_told());
  desk.push(1, 1);
  CHECK(desk.aggregator.all_told());
}

TEST_CASE("a rank that is back goes on beside the slowest of the others", "[aggregator]") {
  Desk desk(async_of(2), {}, 1);
  desk.push(1, 1, 0);
  desk.aggregator.lose(1, "gone");
  for (std::int64_t step = 1; step <= 5; ++step) desk.push(0, step, step);
  desk.aggregator.pull({.rank = 1}, desk.note(1));
  CHECK(desk.answers[1].back()->rank_step == 1);
  desk.push(0, 6, 6);
  CHECK(desk.answers[0].size() == 6);  // one step ahead
  desk.push(0, 7, 7);
  CHECK(desk.answers[0].size() == 6);  // two
  desk.push(1, 2, 6);
  CHECK(desk.answers[0].size() == 7);
}

TEST_CASE("when an async rank is gone the others go on", "[aggregator]") {
  Desk desk(async_of(2));
  desk.aggregator.lose(1, "gone");
  desk.push(0, 1);
  CHECK(desk.answers[0].back()->version == 1);
}

TEST_CASE("a snapshot is of exactly the version that the push made", "[aggregator]") {
  Desk desk(sync_of(2));
  desk.push(0, 1, 0, 1);
  desk.push(1, 1);
  const std::vector<float> at_one = desk.weights(0);
  desk.push(0, 2);
  desk.push(1, 2);
  REQUIRE(desk.snapshots.size() == 1);
  CHECK(desk.snapshots[0].step == 1);
  CHECK(desk.snapshots[0].version == 1);
  CHECK(std::ranges::equal(desk.snapshots[0].weights->span(), at_one));
}

TEST_CASE("a snapshot that is asked for early is taken as soon as its version is there",
          "[aggregator]") {
  Desk desk(async_of(1));
  desk.aggregator.snapshot_at(2);
  desk.push(0, 1);
  CHECK(desk.snapshots.empty());
  desk.push(0, 2, 1);
  REQUIRE(desk.snapshots.size() == 1);
  CHECK(desk.snapshots[0].rank_steps == std::vector<std::int64_t>{2});
}

TEST_CASE("a restored aggregator goes on from its version", "[aggregator]") {
  Desk desk(sync_of(1), {.version = 41, .rank_steps = {}});
  desk.push(0, 42, 41);
  CHECK(desk.answers[0].back()->version == 42);
}

}  // namespace trainyard::runtime

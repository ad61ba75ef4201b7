// Residuals of a lossy wire on their way from the workers into a snapshot, and back to them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>

#include "runtime/net/aggregator.h"
#include "runtime/net/gradient_encoder.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t elements = 3'000;
const Share whole{.ranges = {{0, elements}}};

// Workers and an aggregator without a network.
struct Desk {
  Desk(Mode mode, std::int64_t ranks, std::int64_t leaves, Aggregator::Start start = {})
      : aggregator({.gate = {.mode = mode, .ranks = ranks, .max_steps = 100},
                    .leaves = leaves,
                    .optimizer = {},
                    .wire = Wire::onebit,
                    .share = whole},
                   ParameterShard({}, AlignedBuffer(elements), {}), std::move(start),
                   [this](Snapshot snapshot) { snapshots.push_back(std::move(snapshot)); }) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t parts = aggregator.parts_of(rank);
      encoders.emplace_back(
          GradientEncoder::Shape{
              .wire = Wire::onebit, .arena_elements = elements, .parts = parts, .gaps = {}},
          AlignedBuffer(
              static_cast<std::size_t>(push_memory_floats(Wire::onebit, elements, parts))));
    }
  }

  struct Marks {
    std::int64_t snapshot = 0;
    std::int64_t announced = 0;
    WithResiduals residuals = WithResiduals::no;
  };
  void push(std::int64_t rank, std::int64_t step, Marks marks) {
    GradientEncoder& encoder = encoders[static_cast<std::size_t>(rank)];
    const std::int64_t parts = aggregator.parts_of(rank);
    std::mt19937_64 random(static_cast<std::uint64_t>(100 * rank + step));
    std::vector<float> gradient(static_cast<std::size_t>(elements * parts));
    for (float& value : gradient) value = std::uniform_real_distribution<float>(-1, 1)(random);
    encoder.encode(gradient, 1);
    aggregator.push({.rank = rank,
                     .step = step,
                     .base_version = aggregator.version(),
                     .sums = {.examples = 10},
                     .snapshot_step = marks.snapshot,
                     .announced_snapshot = marks.announced,
                     .residuals = marks.residuals == WithResiduals::yes,
                     .gradient = encoder.payload(whole, marks.residuals)},
                    [this](Result<Answer> answer) { last = std::move(answer); });
  }
  // The residuals of a snapshot are those that the workers have.
  void check_residuals(const Snapshot& snapshot) {
    std::int64_t leaf = 0;
    for (std::size_t rank = 0; rank < encoders.size(); ++rank) {
      for (std::int64_t part = 0; part < aggregator.parts_of(static_cast<std::int64_t>(rank));
           ++part) {
        const auto found = std::ranges::find_if(
            snapshot.residuals, [leaf](const auto& each) { return each->leaf == leaf; });
        REQUIRE(found != snapshot.residuals.end());
        CHECK(std::ranges::equal((*found)->values.span(), encoders[rank].residual(part)));
        ++leaf;
      }
    }
    CHECK(std::ssize(snapshot.residuals) == leaf);
  }

  std::deque<GradientEncoder> encoders;
  std::vector<Snapshot> snapshots;
  Result<Answer> last = internal("none yet");
  Aggregator aggregator;
};

}  // namespace

TEST_CASE("a sync snapshot has the residuals of all leaves, at its own version", "[residual]") {
  Desk desk(Mode::sync, 2, 5);
  desk.push(0, 1, {});
  desk.push(1, 1, {});
  desk.push(1, 2, {.snapshot = 2, .residuals = WithResiduals::yes});
  desk.push(0, 2, {.snapshot = 2, .residuals = WithResiduals::yes});
  REQUIRE(desk.snapshots.size() == 1);
  CHECK(desk.snapshots[0].version == 2);
  desk.check_residuals(desk.snapshots[0]);

  desk.push(0, 3, {});
  desk.push(1, 3, {});
  desk.aggregator.snapshot_at(3);
  CHECK(desk.snapshots.back().residuals.empty());  // nobody has sent those of version 3
}

TEST_CASE("a snapshot of the last version that is asked for later has its residuals",
          "[residual]") {
  Desk desk(Mode::sync, 2, 2);
  desk.push(0, 1, {.residuals = WithResiduals::yes});
  desk.push(1, 1, {.residuals = WithResiduals::yes});
  CHECK(desk.snapshots.empty());
  desk.aggregator.snapshot_at(1);
  REQUIRE(desk.snapshots.size() == 1);
  desk.check_residuals(desk.snapshots[0]);
}

TEST_CASE("a snapshot that one rank announces is asked of all, once, a step ahead", "[residual]") {
  Desk desk(Mode::sync, 2, 2);
  desk.push(0, 1, {.announced = 2});
  desk.push(1, 1, {});
  REQUIRE(desk.last.has_value());
  CHECK(desk.last->asked_snapshot == 2);
  desk.push(0, 2, {.snapshot = 2, .residuals = WithResiduals::yes});
  desk.push(1, 2, {.snapshot = 2, .residuals = WithResiduals::yes});
  CHECK(desk.last->asked_snapshot == 0);
  CHECK(desk.snapshots.size() == 1);
}

TEST_CASE("an async cut has the residual of each rank as it was at its mark", "[residual]") {
  Desk desk(Mode::async, 2, 0);
  desk.push(0, 1, {});
  desk.push(1, 1, {.snapshot = 2, .residuals = WithResiduals::yes});
  const std::vector<float> at_mark(desk.encoders[1].residual(0).begin(),
                                   desk.encoders[1].residual(0).end());
  desk.push(1, 2, {});
  CHECK(desk.snapshots.empty());
  desk.push(0, 2, {.snapshot = 2, .residuals = WithResiduals::yes});
  REQUIRE(desk.snapshots.size() == 1);
  const LeafResiduals& residuals = desk.snapshots[0].residuals;
  REQUIRE(residuals.size() == 2);
  CHECK(residuals[0]->leaf == 1);
  CHECK(std::ranges::equal(residuals[0]->values.span(), at_mark));
  CHECK(residuals[1]->leaf == 0);
  CHECK(std::ranges::equal(residuals[1]->values.span(), desk.encoders[0].residual(0)));
}

TEST_CASE("restored residuals are there until their rank has pushed", "[residual]") {
  LeafResiduals restored;
  for (const std::int64_t leaf : {0, 1, 2}) {
    AlignedBuffer values(elements);
    values.span()[0] = static_cast<float>(leaf);
    restored.push_back(std::make_shared<const LeafResidual>(
        LeafResidual{.leaf = leaf, .values = std::move(values)}));
  }
  Desk desk(Mode::sync, 2, 3, {.version = 0, .rank_steps = {}, .residuals = restored});
  CHECK(desk.aggregator.residual_leaves() == 3);
  REQUIRE(desk.aggregator.residual_of(2).has_value());
  CHECK((*desk.aggregator.residual_of(2))->values.span()[0] == 2);
  CHECK(desk.aggregator.residual_of(3).error().code == Code::not_found);
  desk.push(1, 1, {});  // of leaves 1 and 2
  CHECK(desk.aggregator.residual_of(0).has_value());
  CHECK_FALSE(desk.aggregator.residual_of(1).has_value());
  CHECK_FALSE(desk.aggregator.residual_of(2).has_value());
  CHECK(desk.aggregator.residual_leaves() == 3);
}

}  // namespace trainyard::runtime

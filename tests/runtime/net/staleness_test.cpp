// Async pushes that are stale: counted one by one, and scaled as numbers worked out by hand say.
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <optional>

#include "runtime/net/aggregator.h"
#include "runtime/net/ps_caller.h"

namespace trainyard::runtime {
namespace {

const Share one_element{.ranges = {{0, 1}}};

Aggregator::Rules rules_with(StalenessScaling scaling) {
  Aggregator::Rules rules;
  rules.gate = {.mode = Mode::async, .ranks = 3, .max_steps = 100};
  rules.staleness_scaling = scaling;
  rules.optimizer.learning_rate = 0.5;
  return rules;
}

// One parameter, at 0, and a row of one column; sgd with rate 0.5.
struct Desk {
  explicit Desk(StalenessScaling scaling)
      : aggregator(
            rules_with(scaling), ParameterShard({}, AlignedBuffer(1), {}), {},
            [this](Snapshot snapshot) { snapshots.push_back(std::move(snapshot)); },
            RowTable({.variables = {{.name = "row", .columns = 1, .bound = 0}}}, 1, {})) {}

  // A gradient of `gradient` examples' sum, of two examples, computed from version `base`.
  void push(std::int64_t rank, std::int64_t step, std::int64_t base, float gradient,
            std::int64_t snapshot = 0) {
    AlignedBuffer& buffer = gradients.emplace_back(1);
    buffer.span()[0] = gradient;
    REQUIRE(aggregator.stage_rows(rank, step, {{.ids = {7}, .rows = {gradient}}}).has_value());
    aggregator.push({.rank = rank,
                     .step = step,
                     .base_version = base,
                     .sums = {.examples = 2},
                     .snapshot_step = snapshot,
                     .gradient = payload_of(buffer.span(), one_element)},
                    [this](Result<Answer> answer) {
                      REQUIRE(answer.has_value());
                      newest = *answer;
                    });
  }
  [[nodiscard]] float weight() const { return aggregator.weights()->span()[0]; }

  std::deque<AlignedBuffer> gradients;
  std::vector<Snapshot> snapshots;
  std::optional<Answer> newest;
  Aggregator aggregator;
};

}  // namespace

TEST_CASE("with inverse scaling a push counts for 1 / (1 + staleness) of its rate", "[staleness]") {
  Desk desk(StalenessScaling::inverse);
  desk.push(0, 1, 0, 4);  // staleness 0: 0 - 0.5 * 4/2
  CHECK(desk.weight() == -1.0F);
  desk.push(1, 1, 0, 4);  // 1: -1 - 0.5 * 4/2 / 2
  CHECK(desk.weight() == -1.5F);
  desk.push(0, 2, 1, 8);  // 1: -1.5 - 0.5 * 8/2 / 2
  CHECK(desk.weight() == -2.5F);
  desk.push(2, 1, 0, 16);  // 3: -2.5 - 0.5 * 16/2 / 4
  CHECK(desk.weight() == -3.5F);
  desk.push(2, 2, 4, -4);  // 0: -3.5 + 0.5 * 4/2
  CHECK(desk.weight() == -2.5F);
}

TEST_CASE("without scaling a stale push counts in full", "[staleness]") {
  Desk desk(StalenessScaling::none);
  desk.push(0, 1, 0, 4);
  desk.push(1, 1, 0, 4);
  CHECK(desk.weight() == -2.0F);
}

TEST_CASE("rows of a table and a checkpoint's cut are scaled as the parameters are",
          "[staleness]") {
  Desk desk(StalenessScaling::inverse);
  desk.push(0, 1, 0, 4, 1);  // begins the cut
  desk.push(1, 1, 0, 4);     // of staleness 1, belongs to it too
  desk.push(1, 2, 2, 4, 1);
  desk.push(0, 2, 1, 1024);   // belongs to it no more
  desk.push(2, 1, 0, 16, 1);  // of staleness 4, the last of it
  REQUIRE(desk.snapshots.size() == 1);
  // -1, -0.5, -1, and 0.5 * 16/2 / 5 = 0.8
  CHECK(desk.snapshots[0].weights->span()[0] == Approx(-3.3F));
  std::array<float, 1> row{};
  desk.snapshots[0].rows->read(std::array<std::int64_t, 1>{7}, row);
  CHECK(row[0] == Approx(-3.3F));
}

TEST_CASE("an answer tells how stale each update was since the last one", "[staleness]") {
  Desk desk(StalenessScaling::none);
  desk.push(0, 1, 0, 1);
  desk.push(1, 1, 0, 1);
  desk.push(2, 1, 0, 1);
  CHECK(desk.newest->sums.stale.updates() == StalenessCounts::Updates{1, 1, 1});
  desk.push(0, 2, 1, 1);  // rank 0 has heard of its own alone
  CHECK(desk.newest->sums.stale.updates() == StalenessCounts::Updates{0, 1, 2});
  CHECK(desk.newest->sums.stale.largest() == 2);
}

TEST_CASE("counts of staleness come over the wire as they were", "[staleness]") {
  Answer answer;
  answer.weights = std::make_shared<WeightsBuffer>(AlignedBuffer(1), AlignedBuffer());
  for (const std::int64_t staleness : {0, 0, 2, 90}) answer.sums.stale.add(staleness);
  const proto::PullFrame frame = pull_frame_of(answer, proto::FLOAT32);
  CHECK(stale_of(frame) == answer.sums.stale);
  CHECK(stale_of(proto::PullFrame()) == StalenessCounts());

  proto::PullFrame newer = frame;  // of a program with more ranges
  for (int i = 0; i < 20; ++i) newer.add_staleness_counts(1);
  CHECK(stale_of(newer) == answer.sums.stale);
}

}  // namespace trainyard::runtime

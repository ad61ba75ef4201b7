// What the chief reports of an interval.
#include "runtime/role/progress.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

StepTimes times_of(double unit) {
  return {.input = Seconds(1 * unit),
          .compute = Seconds(2 * unit),
          .push = Seconds(3 * unit),
          .wait = Seconds(4 * unit),
          .pull = Seconds(5 * unit),
          .apply = Seconds(6 * unit)};
}

}  // namespace

TEST_CASE("the parts of a step are means of the interval's steps", "[progress]") {
  Progress progress({}, 0);
  progress.add(times_of(1));
  progress.add(times_of(3));

  const auto values = progress.take(2);
  CHECK(values.at("input_seconds") == Approx(2));
  CHECK(values.at("compute_seconds") == Approx(4));
  CHECK(values.at("push_seconds") == Approx(6));
  CHECK(values.at("wait_seconds") == Approx(8));
  CHECK(values.at("pull_seconds") == Approx(10));
  CHECK(values.at("apply_seconds") == Approx(12));

  progress.add(times_of(5));  // the next interval begins at nothing
  CHECK(progress.take(3).at("compute_seconds") == Approx(10));
  CHECK_FALSE(progress.take(4).contains("compute_seconds"));
}

TEST_CASE("how many lookups the ps have summed is told of each push, where there were any",
          "[progress]") {
  Progress progress({}, 0);
  const auto add = [&progress](std::int64_t pooled) {
    Pulled pulled;
    pulled.traffic = {.sent = 100, .received = 40, .pooled = pooled};
    progress.add(pulled);
  };
  add(2);
  add(1);
  const auto values = progress.take(2);
  CHECK(values.at("pooled_lookups_per_step") == Approx(1.5));
  CHECK(values.at("wire_bytes_received_per_step") == Approx(40));
  add(0);
  CHECK_FALSE(progress.take(3).contains("pooled_lookups_per_step"));
}

TEST_CASE("dropped contributions are told in all and by worker, where there are backup workers",
          "[progress]") {
  Progress progress({.trainers = {"chief/0", "worker/0", "worker/1"}}, 0);
  CHECK(progress.take(1).at("dropped_contributions") == 0);
  progress.set_dropped({0, 2, 0});
  progress.set_dropped({0, 2, 1});
  auto values = progress.take(5);
  CHECK(values.at("dropped_contributions") == 3);
  CHECK_FALSE(values.contains("dropped_contributions_chief_0"));
  CHECK(values.at("dropped_contributions_worker_0") == 2);
  CHECK(values.at("dropped_contributions_worker_1") == 1);

  progress.set_dropped({0, 2, 5});
  CHECK(progress.take(6).at("dropped_contributions") == 7);
  progress.set_dropped({});  // nobody can tell now
  values = progress.take(7);
  CHECK(values.at("dropped_contributions") == 7);
  CHECK(values.at("dropped_contributions_worker_1") == 5);
  CHECK_FALSE(Progress({}, 0).take(1).contains("dropped_contributions"));
}

TEST_CASE("updates that were lost with a ps are told of as the ps count them, once there are any",
          "[progress][ps_return]") {
  Pulled pulled;
  pulled.lost_updates = 3;
  Progress progress({}, 0);
  CHECK_FALSE(progress.take(1).contains("lost_updates"));
  progress.add(pulled);
  CHECK(progress.take(5).at("lost_updates") == 3);
  CHECK(progress.take(6).at("lost_updates") == 3);
  pulled.lost_updates = 5;
  progress.add(pulled);
  CHECK(progress.take(7).at("lost_updates") == 5);
}

TEST_CASE("what an exchange does not tell of was waiting, and never less than nothing",
          "[progress]") {
  const ExchangeTimes parts{.push = Seconds(1), .pull = Seconds(2), .apply = Seconds(3)};
  StepTimes times;
  times.add_exchange(Seconds(10), parts);
  CHECK(times.wait == Seconds(4));
  times.add_exchange(Seconds(5), parts);
  CHECK(times.wait == Seconds(4));
  CHECK(times.push == Seconds(2));
  CHECK(times.pull == Seconds(4));
  CHECK(times.apply == Seconds(6));
}

TEST_CASE("staleness is told of the interval, and counted over the attempt", "[progress]") {
  const auto pulled_with = [](std::initializer_list<std::int64_t> all) {
    Pulled pulled;
    for (const std::int64_t staleness : all) {
      pulled.sums.staleness += staleness;
      pulled.sums.stale.add(staleness);
    }
    return pulled;
  };
  Progress progress({.staleness = true}, 0);
  progress.add(pulled_with({0, 1}));
  progress.add(pulled_with({1, 9, 70}));

  auto values = progress.take(5);
  CHECK(values.at("staleness") == Approx(81.0 / 5));
  CHECK(values.at("staleness_p50") == 1);
  CHECK(values.at("staleness_p99") == 70);
  CHECK(values.at("staleness_max") == 70);
  CHECK(values.at("staleness_updates_0") == 1);
  CHECK(values.at("staleness_updates_1") == 2);
  CHECK(values.at("staleness_updates_8_to_15") == 1);
  CHECK(values.at("staleness_updates_64_and_more") == 1);
  CHECK_FALSE(values.contains("staleness_updates_2"));

  progress.add(pulled_with({2, 1}));
  values = progress.take(7);
  CHECK(values.at("staleness") == Approx(1.5));
  CHECK(values.at("staleness_max") == 2);
  CHECK(values.at("staleness_updates_1") == 3);
  CHECK(values.at("staleness_updates_2") == 1);
  CHECK(values.at("staleness_updates_64_and_more") == 1);

  Progress sync({}, 0);
  sync.add(pulled_with({0}));
  for (const auto& [name, value] : sync.take(1)) CHECK(name.find("stale") == std::string::npos);
}

}  // namespace trainyard::runtime

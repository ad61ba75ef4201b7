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
          .pull = Seconds(5 * unit)};
}

}  // namespace

TEST_CASE("the parts of a step are means of the interval's steps", "[progress]") {
  Progress progress({}, 0);
  progress.add_own_step(times_of(1), 4);
  progress.add_own_step(times_of(3), 4);

  const auto values = progress.take(2);
  CHECK(values.at("input_seconds") == Approx(2));
  CHECK(values.at("compute_seconds") == Approx(4));
  CHECK(values.at("push_seconds") == Approx(6));
  CHECK(values.at("wait_seconds") == Approx(8));
  CHECK(values.at("pull_seconds") == Approx(10));

  progress.add_own_step(times_of(5), 4);  // the next interval begins at nothing
  CHECK(progress.take(3).at("compute_seconds") == Approx(10));
  CHECK_FALSE(progress.take(4).contains("compute_seconds"));
}

TEST_CASE("the rate of products is that of this task's own examples in the time of gradients alone",
          "[progress]") {
  double of_an_example = 3e9;
  const auto example_flops = [&of_an_example] { return of_an_example; };
  Progress progress({.example_flops = example_flops, .peak_flops = 40e9}, 0);
  ExchangeNews news;
  news.sums.examples = 1000;  // of all workers
  progress.add_applied(news);
  progress.add_own_step(times_of(1), 10);  // 2 s
  progress.add_own_step(times_of(2), 20);  // 4 s

  auto values = progress.take(2);
  CHECK(values.at("compute_gflops") == Approx(15));
  CHECK(values.at("compute_peak_fraction") == Approx(0.375));

  progress.add_own_step(times_of(1), 20);
  CHECK(progress.take(3).at("compute_gflops") == Approx(30));
  CHECK_FALSE(progress.take(4).contains("compute_gflops"));

  progress.add_own_step(times_of(1), 10);  // of two buckets: each step has its own
  of_an_example = 1e9;
  progress.add_own_step(times_of(1), 10);
  CHECK(progress.take(5).at("compute_gflops") == Approx(10));
}

TEST_CASE(
    "what another precision would gain follows from the rates of both, and the model's products",
    "[progress]") {
  const auto example_flops = [] { return 2e12; };
  const ProductRates rates{
      {Precision::float32, 40}, {Precision::tf32, 20}, {Precision::bfloat16, 400}};
  const auto values_in = [&](Precision precision, std::int64_t examples) {
    Progress progress(
        {.example_flops = example_flops, .precision = precision, .product_rates = rates}, 0);
    progress.add_own_step(times_of(1), examples);  // 2 s
    return progress.take(1);
  };
  // Of 2 s products take 1 at least.
  auto values = values_in(Precision::float32, 20);
  CHECK(values.at("speedup_in_bfloat16") == Approx(2 / 1.1));
  CHECK(values.at("speedup_in_tf32") == Approx(2 / 3.0));
  CHECK_FALSE(values.contains("speedup_in_float32"));
  // 0.1 of 2 s in bfloat16.
  values = values_in(Precision::bfloat16, 20);
  CHECK(values.at("speedup_in_float32") == Approx(2 / 2.9));
  CHECK_FALSE(values.contains("speedup_in_bfloat16"));
  // Faster than was measured: all of it is products.
  CHECK(values_in(Precision::float32, 1000).at("speedup_in_bfloat16") == Approx(10));

  Progress not_measured({.example_flops = example_flops, .product_rates = {}}, 0);
  not_measured.add_own_step(times_of(1), 20);
  for (const auto& [name, value] : not_measured.take(1)) CHECK(name.find("speedup") == name.npos);
}

TEST_CASE("where a model's products are not counted, no rate is told", "[progress]") {
  Progress progress({.peak_flops = 40e9}, 0);
  progress.add_own_step(times_of(1), 10);
  CHECK_FALSE(progress.take(1).contains("compute_gflops"));
}

TEST_CASE("how many lookups the ps have summed is told of each push, where there were any",
          "[progress]") {
  Progress progress({}, 0);
  const auto add = [&progress](std::int64_t pooled) {
    ExchangeNews news;
    news.traffic = {.sent = 100, .received = 40, .pooled = pooled};
    progress.add_applied(news);
    progress.add_own_step(times_of(1), 4);
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

TEST_CASE("staleness is told of the interval, and counted over the attempt", "[progress]") {
  const auto news_of = [](std::initializer_list<std::int64_t> all) {
    ExchangeNews news;
    for (const std::int64_t staleness : all) {
      news.sums.staleness += staleness;
      news.sums.stale.add(staleness);
    }
    return news;
  };
  Progress progress({.staleness = true}, 0);
  progress.add_applied(news_of({0, 1}));
  progress.add_applied(news_of({1, 9, 70}));

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

  progress.add_applied(news_of({2, 1}));
  values = progress.take(7);
  CHECK(values.at("staleness") == Approx(1.5));
  CHECK(values.at("staleness_max") == 2);
  CHECK(values.at("staleness_updates_1") == 3);
  CHECK(values.at("staleness_updates_2") == 1);
  CHECK(values.at("staleness_updates_64_and_more") == 1);

  Progress sync({}, 0);
  sync.add_applied(news_of({0}));
  for (const auto& [name, value] : sync.take(1)) CHECK(name.find("stale") == std::string::npos);
}

TEST_CASE("what others did before this task came is in the first report's means, and in no rate",
          "[progress]") {
  Progress progress({}, 200);
  progress.add_earlier({.examples = 30, .denominator = 30, .loss_sum = 60});
  progress.add_applied(
      {.version = 201, .sums = {.examples = 10, .denominator = 10, .loss_sum = 10}, .traffic = {}});
  const auto first = progress.take(201);
  CHECK(first.at("loss") == Approx(70.0 / 40));
  CHECK(first.at("examples_per_second") == Approx(10 * first.at("steps_per_second")));
  progress.add_applied(
      {.version = 202, .sums = {.examples = 10, .denominator = 10, .loss_sum = 5}, .traffic = {}});
  CHECK(progress.take(202).at("loss") == Approx(0.5));

  Progress came_late({}, 200);
  came_late.add_earlier({.examples = 30, .denominator = 30, .loss_sum = 60});
  CHECK(came_late.take(200).at("loss") == Approx(2));
}

}  // namespace trainyard::runtime

#include "runtime/core/sampler.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

namespace trainyard::runtime {

namespace {

std::vector<std::int64_t> epoch_of(const Sampler& sampler, std::int64_t epoch,
                                   std::int64_t examples) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(examples));
  sampler.fill(epoch * examples, indices);
  return indices;
}

}  // namespace

TEST_CASE("every example comes exactly once in each epoch, whatever the size", "[sampler]") {
  for (const std::int64_t examples : {1, 2, 3, 5, 16, 17, 100, 1000, 4097}) {
    const Sampler sampler(42, examples);
    for (const std::int64_t epoch : {0, 1, 7}) {
      auto indices = epoch_of(sampler, epoch, examples);
      std::ranges::sort(indices);
      std::vector<std::int64_t> all(static_cast<std::size_t>(examples));
      std::iota(all.begin(), all.end(), 0);
      REQUIRE(indices == all);
    }
  }
}

TEST_CASE("epochs and seeds have orders of their own", "[sampler]") {
  const auto first = epoch_of(Sampler(1, 1000), 0, 1000);

  REQUIRE(first != epoch_of(Sampler(1, 1000), 1, 1000));
  REQUIRE(first != epoch_of(Sampler(2, 1000), 0, 1000));
  REQUIRE(first == epoch_of(Sampler(1, 1000), 0, 1000));
}

TEST_CASE("one index asked for alone is the same as within a batch, across epochs too",
          "[sampler]") {
  const Sampler sampler(3, 60);
  std::vector<std::int64_t> batch(100);
  sampler.fill(30, batch);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    REQUIRE(sampler.at(30 + static_cast<std::int64_t>(i)) == batch[i]);
  }
}

TEST_CASE("an order looks like chance: neighbours are far apart and every place is as likely",
          "[sampler]") {
  constexpr std::int64_t examples = 997;
  const Sampler sampler(11, examples);
  double place_sum = 0;
  double distance_sum = 0;
  constexpr std::int64_t epochs = 200;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto indices = epoch_of(sampler, epoch, examples);
    place_sum += static_cast<double>(indices[0]);
    for (std::size_t i = 1; i < indices.size(); ++i) {
      distance_sum += static_cast<double>(std::abs(indices[i] - indices[i - 1]));
    }
  }
  // Means of independent uniform numbers: (n - 1) / 2, and n / 3 for the distance of two.
  REQUIRE(place_sum / epochs == Approx(498).margin(65));  // 3 standard errors
  REQUIRE(distance_sum / static_cast<double>(epochs * (examples - 1)) == Approx(332.5).margin(3));
}

// As the first version had it: a job that goes on after an upgrade reads on in the same order.
TEST_CASE("the order of a seed never changes", "[sampler]") {
  const Sampler sampler(7, 12);
  CHECK(epoch_of(sampler, 0, 12) ==
        std::vector<std::int64_t>{0, 3, 10, 2, 6, 1, 7, 9, 5, 11, 4, 8});
  CHECK(epoch_of(sampler, 1, 12) ==
        std::vector<std::int64_t>{3, 0, 7, 5, 2, 6, 1, 10, 8, 9, 11, 4});
  CHECK(epoch_of(sampler, 2, 12) ==
        std::vector<std::int64_t>{5, 0, 6, 11, 1, 10, 9, 2, 7, 3, 8, 4});
}

TEST_CASE("workers of one step take neighbouring batches, and steps follow one another",
          "[sampler]") {
  REQUIRE(batch_position(1, 0, 2, 100) == 0);
  REQUIRE(batch_position(1, 1, 2, 100) == 100);
  REQUIRE(batch_position(2, 0, 2, 100) == 200);
  REQUIRE(batch_position(11, 1, 4, 8) == 328);
}

}  // namespace trainyard::runtime

#include "runtime/data/prefetch.h"

#include <atomic>
#include <catch2/catch.hpp>

#include "tests/runtime/data/batches.h"

namespace trainyard::runtime {

namespace {

struct Source {
  std::unique_ptr<Dataset> data =
      make_synthetic_digits(5, {.train_examples = 70, .test_examples = 1});
  Sampler sampler{5, 70};

  // Without a thread.
  [[nodiscard]] Batch read(const BatchPlan& plan, std::int64_t step) const {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(plan.batch_size));
    sampler.fill(batch_position(step, plan.first_leaf, plan.leaves, plan.batch_size), indices);
    Batch batch;
    const auto position = batch_position(step, plan.first_leaf, plan.leaves, plan.batch_size);
    REQUIRE(data->read({Split::train, indices, static_cast<std::uint64_t>(position)}, batch));
    return batch;
  }
};

}  // namespace

TEST_CASE("batches come in the order of steps, from any first step, for any rank", "[prefetch]") {
  const Source source;
  for (const BatchPlan plan :
       {BatchPlan{.first_leaf = 0, .leaves = 1, .batch_size = 16},
        BatchPlan{.first_leaf = 2, .leaves = 3, .batch_size = 9, .first_step = 40}}) {
    for (const std::size_t ahead : {1, 2, 5}) {
      Prefetcher prefetcher(*source.data, source.sampler, plan, ahead);
      prefetcher.start();
      for (std::int64_t step = plan.first_step; step < plan.first_step + 25; ++step) {
        const Batch* const batch = *prefetcher.next();
        REQUIRE(batch != nullptr);
        const Batch expected = source.read(plan, step);
        REQUIRE(batch->examples == plan.batch_size);
        REQUIRE(batch->labels == expected.labels);
        REQUIRE(batch->features == expected.features);
        REQUIRE(batch->first_position == expected.first_position);
      }
    }
  }
}

TEST_CASE("batches of steps that are skipped are never handed out", "[prefetch]") {
  const Source source;
  const BatchPlan plan{.first_leaf = 1, .leaves = 3, .batch_size = 7, .first_step = 4};
  for (const std::size_t ahead : {1, 2, 5}) {
    Prefetcher prefetcher(*source.data, source.sampler, plan, ahead);
    prefetcher.start();
    std::int64_t step = plan.first_step;
    for (const std::int64_t skipped : {0, 0, 1, 0, 2, 3, 100, 0, 1}) {
      step += skipped;
      prefetcher.skip_to(step);
      const Batch* const batch = *prefetcher.next();
      REQUIRE(batch != nullptr);
      REQUIRE(batch->features == source.read(plan, step).features);
      ++step;
    }
  }
}

TEST_CASE("a batch stays as it is until the next is asked for", "[prefetch]") {
  const Source source;
  const BatchPlan plan{.first_leaf = 0, .leaves = 1, .batch_size = 8};
  Prefetcher prefetcher(*source.data, source.sampler, plan, 1);
  prefetcher.start();
  for (std::int64_t step = 1; step <= 20; ++step) {
    const Batch* const batch = *prefetcher.next();
    const Batch copy = *batch;
    static_cast<void>(source.read(plan, step + 1));  // the thread has time to read ahead
    REQUIRE(batch->features == copy.features);
  }
}

TEST_CASE("nothing is read beyond the last step", "[prefetch][mend-B16]") {
  class Counted final : public Dataset {
   public:
    [[nodiscard]] const DataShape& shape() const override { return source_.data->shape(); }
    [[nodiscard]] std::int64_t size(Split split) const override {
      return source_.data->size(split);
    }
    mutable std::atomic<int> batches = 0;

   private:
    [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override {
      ++batches;
      return source_.data->read(selection, batch);
    }
    Source source_;
  };
  const Counted data;
  {
    const BatchPlan plan{.leaf_count = 2, .leaves = 2, .batch_size = 4, .last_step = 3};
    Prefetcher prefetcher(data, Sampler{5, 70}, plan, 4);
    prefetcher.start();
    for (int leaf = 0; leaf < 6; ++leaf) REQUIRE(*prefetcher.next() != nullptr);
    REQUIRE(*prefetcher.next() == nullptr);
  }
  REQUIRE(data.batches == 6);
}

TEST_CASE("what cannot be read is said in its turn, after all batches before it", "[prefetch]") {
  class Torn final : public Dataset {
   public:
    [[nodiscard]] const DataShape& shape() const override { return source_.data->shape(); }
    [[nodiscard]] std::int64_t size(Split split) const override {
      return source_.data->size(split);
    }

   private:
    [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override {
      if (selection.first_position >= 12) return invalid("file 3 is torn");
      return source_.data->read(selection, batch);
    }
    Source source_;
  };
  const Torn data;
  Prefetcher prefetcher(data, Sampler{5, 70}, {.batch_size = 4}, 5);
  prefetcher.start();
  for (std::uint64_t step = 0; step < 3; ++step) {
    const auto batch = prefetcher.next();
    REQUIRE(batch);
    REQUIRE((*batch)->first_position == 4 * step);
  }
  for (int again = 0; again < 2; ++again) {
    const auto torn = prefetcher.next();
    REQUIRE_FALSE(torn);
    CHECK(torn.error() == invalid("file 3 is torn"));
  }
}

TEST_CASE("stopping wakes who waits, and can be done before the start and twice", "[prefetch]") {
  const Source source;
  const BatchPlan plan{.first_leaf = 0, .leaves = 1, .batch_size = 4};
  {
    Prefetcher prefetcher(*source.data, source.sampler, plan);
    std::thread waiting([&] {
      while (*prefetcher.next() != nullptr) {
      }
    });
    prefetcher.stop();
    prefetcher.stop();
    waiting.join();
    REQUIRE(*prefetcher.next() == nullptr);
  }
  Prefetcher unused(*source.data, source.sampler, plan);  // never started: its end does not hang
  Prefetcher full(*source.data, source.sampler, plan);
  full.start();  // its thread waits for a free slot when it ends
}

}  // namespace trainyard::runtime

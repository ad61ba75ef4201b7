// Jobs on images: augmentation, like all else, depends on no number of processes.
#include <catch2/catch.hpp>
#include <variant>

#include "runtime/core/counter_rng.h"
#include "tests/runtime/role/job.h"

namespace trainyard::runtime::test {

namespace {

// Examples of CIFAR-10 with pixels by chance.
std::string cifar_examples(std::uint64_t seed, std::uint64_t count) {
  const CounterRng rng(seed, RngStream::synthetic);
  std::string bytes;
  for (std::uint64_t i = 0; i < count; ++i) {
    bytes += static_cast<char>(i % 10);
    for (std::uint64_t pixel = 0; pixel < 3072; ++pixel) {
      bytes += static_cast<char>(rng.bits(i * 3072 + pixel));
    }
  }
  return bytes;
}

JobSpec image_job(const TempFolder& folder) {
  folder.write("data_batch_1.bin", cifar_examples(1, 25));
  folder.write("data_batch_2.bin", cifar_examples(2, 25));
  folder.write("test_batch.bin", cifar_examples(3, 10));
  JobSpec spec = small_job();
  spec.dataset = DatasetSpec{};
  spec.dataset.name = "cifar10";
  spec.dataset.format = "cifar";
  spec.dataset.path = folder.path();
  spec.dataset.normalize = NormalizeSpec{.mean = {0.5, 0.4, 0.3}, .stddev = {0.25}};
  spec.dataset.augment = {CropSpec{.padding = 4}, FlipSpec{},
                          RandomResizedCropSpec{.scale_least = 0.3, .scale_most = 1},
                          CutoutSpec{.size = 6}, BrightnessSpec{.amount = 0.3}};
  spec.training.global_batch_size = 12;
  spec.training.micro_batch_size = 4;
  spec.training.max_steps = 30;
  return spec;
}

std::vector<float> weights_with(JobSpec spec, std::int64_t ps, std::int64_t workers) {
  spec.ps.replicas = ps;
  spec.worker.replicas = workers;
  if (ps == 0) spec.training.strategy = workers == 1 ? Strategy::local : Strategy::all_reduce;
  Job job(spec);
  job.start();
  for (const auto& [task, code] : job.wait_all()) {
    INFO(task);
    REQUIRE(code == 0);
  }
  return job.final_weights();
}

}  // namespace

TEST_CASE("a job on augmented images ends with the same bytes for any number of processes",
          "[job][image_job]") {
  const TempFolder folder;
  const JobSpec spec = image_job(folder);
  const std::vector<float> weights = weights_with(spec, 0, 1);
  CHECK(weights_with(spec, 1, 2) == weights);
  CHECK(weights_with(spec, 2, 3) == weights);
  CHECK(weights_with(spec, 0, 3) == weights);

  JobSpec plain = spec;
  plain.dataset.augment.clear();
  CHECK(weights_with(plain, 0, 1) != weights);
}

TEST_CASE("an image that does not decode ends the task with its name", "[job][image_job]") {
  const TempFolder folder;
  for (const char* const name : {"cat/1.pgm", "cat/2.pgm", "dog/1.pgm", "dog/2.pgm"}) {
    folder.write(name, "P5\n2 2\n255\nabcd");
  }
  folder.write("cat/3.png", "P5\n2 2\n255\nab");
  JobSpec spec = small_job();
  spec.dataset = DatasetSpec{};
  spec.dataset.name = "animals";
  spec.dataset.format = "image_folder";
  spec.dataset.path = folder.path();
  spec.dataset.height = spec.dataset.width = 4;
  spec.ps.replicas = 0;
  spec.worker.replicas = 1;
  spec.training.strategy = Strategy::local;
  Job job(spec);
  job.start();
  CHECK(job.wait_all() == std::map<std::string, int>{{"worker/0", 1}});
  std::vector<FailureEvent> failures;
  for (const RunEvent& event : job.events("worker/0")) {
    if (const auto* failure = std::get_if<FailureEvent>(&event.what)) failures.push_back(*failure);
  }
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].reason == "BAD_DATA");
  CHECK_THAT(failures[0].message,
             Catch::Matchers::Contains(folder.path() + "/cat/3.png is truncated"));
}

}  // namespace trainyard::runtime::test

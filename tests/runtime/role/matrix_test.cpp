// One spec, one model: the same bytes whoever computes them, and whatever carries them. MATRIX=1
// runs every optimizer by every transport.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/files/sha256.h"
#include "tests/environment.h"
#include "tests/runtime/role/job_runs.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

using test::Job, test::small_job, test::micro_batch_job, test::run, test::all_of;

using Counts = std::vector<std::int64_t>;
using Names = std::vector<const char*>;
using Optimizers = std::vector<OptimizerName>;

constexpr std::int64_t matrix_steps = is_sanitized ? 5 : 300;

std::string sha256_of(const std::vector<float>& weights) {
  const auto bytes = std::as_bytes(std::span(weights));
  return sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::vector<double> test_losses(const Job& job) {
  std::vector<double> losses;
  for (const MetricEvent& metric : all_of<MetricEvent>(job, "worker/0")) {
    if (metric.values.contains("test_loss")) losses.push_back(metric.values.at("test_loss"));
  }
  return losses;
}

struct Carrier {
  const char* setting;
  const char* route;
};
constexpr Carrier shared_memory{"shared_memory", "shared memory"};
constexpr std::array carriers{shared_memory, Carrier{"unix", "unix"}, Carrier{"tcp", "tcp"}};

// Those of a shape's turn: one, another for each optimizer, so that each shape meets each.
std::span<const Carrier> carriers_in(std::size_t turn) {
  if (is_sanitized || number_from_environment("MATRIX", 0) != 0) return carriers;
  return std::span(carriers).subspan(turn % carriers.size(), 1);
}

// Runs it by this transport, and none of its peers by another.
std::string model_of(JobSpec spec, const Carrier& carrier) {
  spec.training.max_steps = matrix_steps;
  const EnvironmentVariable chosen("TRAINYARD_TRANSPORT", carrier.setting);
  Job job(spec);
  run(job);
  if (spec.ps.replicas > 0) {
    const auto phases = all_of<PhaseEvent>(job, "worker/0");
    REQUIRE(phases.size() > 1);
    CHECK(phases[1].detail.find(carrier.route) != std::string::npos);
  }
  return sha256_of(job.final_weights());
}

}  // namespace

TEST_CASE("300 steps of each optimizer end with one sha256, for every shape and transport",
          "[job][matrix]") {
  const auto optimizers = either<Optimizers>(
      {OptimizerName::sgd, OptimizerName::momentum, OptimizerName::adam}, {OptimizerName::adam});
  for (const OptimizerName name : optimizers) {
    JobSpec alone = micro_batch_job(1, 0);
    alone.training.optimizer.name = name;
    alone.training.strategy = Strategy::local;
    const std::string expected = model_of(alone, shared_memory);
    std::size_t turn = static_cast<std::size_t>(name);
    for (const std::int64_t workers : either<Counts>({1, 2, 3, 4, 8}, {1, 3})) {
      for (const std::int64_t ps : either<Counts>({0, 1, 2, 3}, {0, 2})) {
        for (const Carrier& carrier : carriers_in(turn++)) {
          INFO(workers << " workers, " << ps << " ps, optimizer " << static_cast<int>(name) << ", "
                       << carrier.route);
          JobSpec spec = micro_batch_job(workers, ps);
          spec.training.optimizer.name = name;
          CHECK(model_of(spec, carrier) == expected);
        }
      }
    }
  }
}

// By a socket chunks leave and come one by one; in shared memory they lie where they are.
TEST_CASE("a gradient that leaves while it is computed makes the same model", "[job][matrix]") {
  JobSpec batches = small_job();
  JobSpec micro_batches = micro_batch_job(3, 1);
  for (JobSpec spec : {batches, micro_batches}) {
    const bool is_micro = spec.training.global_batch_size.has_value();
    models::set_argument(spec.model, "hidden", models::widths({1024, 512}));
    spec.training.max_steps = 16;
    spec.training.evaluate_every_steps = 4;
    Job whole(spec);
    {
      const EnvironmentVariable chosen("TRAINYARD_TRANSPORT", "tcp");
      run(whole);
    }
    REQUIRE(test_losses(whole).size() == 4);
    for (const char* const transport : either<Names>({"shared_memory", "tcp", "unix"}, {"tcp"})) {
      for (const std::int64_t ps : either<Counts>({1, 2}, {2})) {
        // Of 12 micro-batches 3 workers send one sum each, 2 workers two.
        for (const std::int64_t workers : is_micro ? Counts{2, 3} : Counts{2}) {
          INFO(transport << ", " << ps << " ps, " << workers << " workers");
          const EnvironmentVariable chosen("TRAINYARD_TRANSPORT", transport);
          spec.ps.replicas = ps;
          spec.worker.replicas = workers;
          Job streamed(spec);
          run(streamed);
          CHECK(streamed.final_weights() == whole.final_weights());
          CHECK(test_losses(streamed) == test_losses(whole));
        }
      }
    }
  }
}

}  // namespace trainyard::runtime

// Jobs on lines of text: convolutions, an LSTM in both directions, CTC and Adadelta, one model for
// any number of processes.
#include <catch2/catch.hpp>
#include <span>

#include "schemas/files/sha256.h"
#include "tests/runtime/role/job_runs.h"

namespace trainyard::runtime::test {
namespace {

JobSpec lines_job(std::int64_t workers, std::int64_t ps) {
  const auto parsed = parse_job_spec(
      R"({"model": {"name": "crnn", "units": 16},
          "dataset": {"name": "synthetic_lines", "train_examples": 120, "test_examples": 24},
          "training": {"global_batch_size": 12, "micro_batch_size": 2, "max_steps": 8,
                       "optimizer": {"name": "adadelta", "learning_rate": 1.0, "rho": 0.9}}})");
  return with_tasks(parsed, workers, ps);
}

std::string sha256_of_weights(const Job& job) {
  const std::vector<float> weights = job.final_weights();
  const auto bytes = std::as_bytes(std::span(weights));
  return sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

TEST_CASE("a reader of lines has one sha256 for any number of workers and ps, and all-reduce",
          "[job]") {
  Job alone(lines_job(1, 0));
  run(alone);
  const std::string expected = sha256_of_weights(alone);
  const auto last = last_of<MetricEvent>(alone, "worker/0").values;
  CHECK(last.contains("test_edit_distance"));
  CHECK(last.contains("test_sequence_accuracy"));
  std::vector<std::pair<std::int64_t, std::int64_t>> gangs;
  for (std::int64_t workers = 1; workers <= 4; ++workers) {
    for (std::int64_t ps = 1; ps <= 2; ++ps) gangs.emplace_back(workers, ps);
    if (workers > 1) gangs.emplace_back(workers, 0);
  }
  for (const auto& [workers, ps] : gangs) {
    INFO(workers << " workers, " << ps << " ps");
    Job shared(lines_job(workers, ps));
    run(shared);
    CHECK(sha256_of_weights(shared) == expected);
  }
}

}  // namespace trainyard::runtime::test

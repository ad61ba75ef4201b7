// What tests of jobs on sparse data share: LibSVM files that they write, and published ones.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "runtime/core/counter_rng.h"
#include "tests/runtime/role/job_runs.h"
#include "tests/support/models.h"

namespace trainyard::runtime::test {

inline constexpr const char* libsvm_folder = "../shared/data/libsvm";

// Examples with 6 of 50 features each; the sign of a hidden weight for each feature decides.
inline std::string separable_examples(std::int64_t count, std::uint64_t seed) {
  constexpr std::uint64_t features = 50;
  const CounterRng hidden(7, RngStream::synthetic);
  const CounterRng rng(seed, RngStream::split);
  std::string text;
  for (std::uint64_t row = 0; row < static_cast<std::uint64_t>(count); ++row) {
    std::map<std::uint64_t, double> elements;
    for (std::uint64_t i = 0; i < 6; ++i) {
      elements[1 + rng.bits(12 * row + i) % features] = rng.normal(12 * row + 6 + i);
    }
    double sum = 0;
    std::string line;
    for (const auto& [index, value] : elements) {
      sum += hidden.normal(index) * value;
      line += " " + std::to_string(index) + ":" + std::to_string(value);
    }
    text += (sum > 0 ? "+1" : "-1") + line + "\n";
  }
  return text;
}

// A logistic regression on this data set: 1 ps, 2 workers, sync, adam.
inline JobSpec logistic_job(DatasetSpec dataset) {
  JobSpec spec = small_job();
  spec.model = models::zoo("logistic_regression");
  spec.dataset = std::move(dataset);
  spec.dataset.format = "libsvm";
  spec.training.optimizer.learning_rate = 0.1;
  return spec;
}

inline DatasetSpec made_data(const TempFolder& folder) {
  DatasetSpec dataset;
  dataset.name = "made";
  dataset.path = folder.path("train.txt");
  dataset.test_path = folder.path("test.txt");
  write_content(dataset.path, separable_examples(2000, 1));
  write_content(dataset.test_path, separable_examples(500, 2));
  return dataset;
}

inline double test_accuracy_of(const JobSpec& spec) {
  Job job(spec);
  run(job);
  double accuracy = 0;
  for (const RunEvent& event : job.events("worker/0")) {
    const auto* const metric = std::get_if<MetricEvent>(&event.what);
    if (metric == nullptr || !metric->values.contains("test_accuracy")) continue;
    accuracy = metric->values.at("test_accuracy");
  }
  return accuracy;
}

// A published data set; nothing, saying so, where it is not there.
inline std::optional<DatasetSpec> published(const std::string& train, const std::string& test) {
  const std::filesystem::path folder(libsvm_folder);
  if (!std::filesystem::exists(folder / train)) {
    WARN("skipped: " << (folder / train).string() << " is not there");
    return std::nullopt;
  }
  DatasetSpec dataset;
  dataset.name = train;
  dataset.path = std::filesystem::canonical(folder / train).string();
  if (!test.empty()) dataset.test_path = std::filesystem::canonical(folder / test).string();
  return dataset;
}

}  // namespace trainyard::runtime::test

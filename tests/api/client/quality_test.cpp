#include "api/client/quality.h"

#include <catch2/catch.hpp>

namespace trainyard::client {
namespace {

std::string test_cell(const std::map<std::string, double>& metrics) {
  return cell_of(quality_of(metrics, MetricSplit::test));
}

}  // namespace

TEST_CASE("a job of any model has one metric that says how good it is", "[client]") {
  CHECK(test_cell({{"loss", 1}, {"test_loss", 2}, {"test_accuracy", 0.5}}) == "accuracy 0.5000");
  CHECK(test_cell({{"recall_10", 0.3}, {"test_recall_10", 0.25}}) == "recall_10 0.2500");
  CHECK(test_cell({{"test_accuracy", 0.7}, {"test_auc", 0.8}}) == "auc 0.8000");
  CHECK(test_cell({{"test_top_5", 0.9}, {"test_accuracy", 0.6}}) == "accuracy 0.6000");
  CHECK(test_cell({{"test_edit_distance", 0.1}}) == "edit_distance 0.1000");
  CHECK(test_cell({{"test_perplexity", 4}}) == "perplexity 4.0000");
  CHECK(test_cell({{"test_mean_absolute_error", 2}}) == "mean_absolute_error 2.0000");
}

TEST_CASE("what is of the other split, or no measure of a model, is not taken", "[client]") {
  CHECK(test_cell({}) == "-");
  CHECK(test_cell({{"accuracy", 0.5}, {"test_loss", 1}, {"test_steps_per_second", 3}}) == "-");
  CHECK(test_cell({{"test_recall_", 0.5}, {"test_recall_x", 0.5}, {"test_top_5a", 0.5}}) == "-");
  CHECK(is_quality("recall_10"));
  CHECK_FALSE(is_quality("test_recall_10"));
  CHECK_FALSE(is_quality("loss"));
  const auto batch = quality_of({{"test_auc", 0.5}, {"recall_2", 0.25}}, MetricSplit::batch);
  REQUIRE(batch);
  CHECK(words_of(*batch) == "recall 2");
  CHECK(batch->value == 0.25);
}

}  // namespace trainyard::client

// A small residual network with all that depends on where an example lies: batch norm's averages,
// dropout, and images that are augmented. As JSON, of a job on digits.
#pragma once

#include <string>

namespace trainyard::models {

inline const std::string convnet = R"({
  "layers": [
    {"op": "conv2d", "filters": 6, "kernel": 3, "stride": 2, "padding": 1, "bias": false},
    "batch_norm", "relu",
    {"residual": [{"op": "conv2d", "filters": 6, "kernel": 3, "padding": 1, "bias": false},
                  "batch_norm"]},
    "relu", {"op": "max_pool2d", "size": 2}, "flatten", {"op": "dropout", "rate": 0.3},
    {"op": "dense", "units": "classes"}],
  "loss": {"op": "softmax_cross_entropy", "label_smoothing": 0.1},
  "metrics": ["accuracy", {"op": "top_k", "k": 3}]})";

inline const std::string augmented_digits = R"({
  "name": "synthetic_digits", "train_examples": 400, "test_examples": 60,
  "normalize": {"mean": 0.13, "stddev": 0.31},
  "augment": [{"op": "crop", "padding": 2}, {"op": "flip", "axis": "width"}]})";

}  // namespace trainyard::models

// ModelSpec and DataShape -> a graph that ends in a loss: a plain switch over the zoo.
#pragma once

#include <optional>

#include "runtime/data/dataset.h"
#include "runtime/model/model_builder.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

struct BuiltModel {
  ModelBuilder builder;
  NodeId loss = 0;                // one number per example
  std::optional<NodeId> matches;  // classification: 1 per example that is classified rightly
};

// `invalid`, naming the field, where the spec is wrong or does not fit the data.
Result<BuiltModel> build_graph(const ModelSpec& spec, const DataShape& data);

}  // namespace trainyard::runtime

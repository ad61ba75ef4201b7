// A model on its data -> a graph that ends in a loss: a walk over what schemas/model makes of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/model/model.h"
#include "runtime/model/model_builder.h"
#include "schemas/base/result.h"
#include "schemas/model/analysis.h"

namespace trainyard::runtime {

struct BuiltModel {
  ModelBuilder builder;
  std::vector<std::string> node_layers;     // by node: whose it is, "conv2d_0 (conv2d)", "the loss"
  NodeId loss = 0;                          // one number per example
  MeanOver mean_over = MeanOver::examples;  // of the loss
  std::vector<Metric> metrics;
  // One number per example; of exp_of_loss and area the loss itself.
  std::vector<NodeId> metric_nodes;
  std::vector<std::vector<NodeId>> watched;  // by metric: Model::watched()
  std::int64_t examples_max = 0;             // of a batch; 0 = any
  std::int64_t step_flops = 0;  // of one example, forward and backward; 0 = beyond counting
};

// All that the data's files tell.
model::Facts facts_of(const DataShape& data);

// Of examples of so many ids: one of the data's buckets, or `features`.
DataShape of_length(const DataShape& data, std::int64_t length);

// `invalid`, with each place in the spec, where the model is wrong, does not fit the data, or has a
// layer that is not there yet.
Result<BuiltModel> build_graph(const model::Written& written, const DataShape& data);
// One for each bucket of the data, the longest first: the same nodes over the same arena.
Result<std::vector<BuiltModel>> build_bucket_graphs(const model::Written& written,
                                                    const DataShape& data);
// The same of a data set that is known by its facts alone.
Result<BuiltModel> build_graph(const model::Written& written, const model::Facts& facts);

}  // namespace trainyard::runtime

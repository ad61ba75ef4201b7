// Wide and deep (Cheng et al.: "Wide & deep learning for recommender systems", 2016): a linear
// model of sparse features beside a multilayer perceptron of their embeddings.
#pragma once

#include "runtime/model/model_builder.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// Sparse features -> one logit. A feature's row of the table is its weight in the linear model,
// "wide/kernel" [1], which starts at zero, and its embedding, "embedding/kernel"
// [embedding_size], which starts in U(-0.05, 0.05) as Keras has it. An example's embeddings, each
// times its value, are averaged; the layers above are an mlp's: dense_0, ...
NodeId add_wide_and_deep(ModelBuilder& builder, NodeId features, const ModelSpec& spec);

}  // namespace trainyard::runtime

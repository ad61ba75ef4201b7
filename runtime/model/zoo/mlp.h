// The multilayer perceptron: dense layers with a nonlinearity between them. With no hidden layer it
// is linear: the same function makes linear_regression, logistic_regression and softmax_regression.
#pragma once

#include <cstdint>

#include "runtime/model/model_builder.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// x [features] -> [outputs]; variables are named dense_0, dense_1, ... from the input on.
NodeId add_mlp(ModelBuilder& builder, NodeId x, const ModelSpec& spec, std::int64_t outputs);

}  // namespace trainyard::runtime

// The networks of pytorch_images.py and pytorch_sequences.py in the model language: the same
// layers, without dropout.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/model/model.h"
#include "schemas/model/written.h"

namespace trainyard::bench {

model::Written peer_network(const std::string& name);

// How many numbers the optimizer changes: averages of a batch norm are none. PyTorch's network has
// as many, or it is other work.
std::int64_t trained_parameters(const runtime::Model& model);

}  // namespace trainyard::bench

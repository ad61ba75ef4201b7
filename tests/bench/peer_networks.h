// The networks of pytorch_images.py and pytorch_sequences.py in the model language: the same
// layers, without dropout.
#pragma once

#include <string>

#include "schemas/model/written.h"

namespace trainyard::bench {

model::Written peer_network(const std::string& name);

}  // namespace trainyard::bench

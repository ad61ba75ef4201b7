// Nonlinearities: layers of their own, and the "activation" of others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/model/layer_scribe.h"

namespace trainyard::model {

// "activation": one of them, or "none".
ArgumentRule activation_rule();

// The layers that they are, by name.
std::vector<std::string_view> activation_names();

// Of which side of an activation, by its name, the gradient is computed: what is kept for it.
enum class Reads { input, output };
Reads gradient_of_activation_reads(std::string_view activation);

// What the layer's own "activation" keeps for the backward pass. After gives().
void activates(LayerScribe& layer);

// The initialiser of a kernel before this activation: of He et al. before those that are zero for
// one half of all numbers, of Glorot and Bengio before all others.
std::string_view standard_init(std::string_view activation);

}  // namespace trainyard::model

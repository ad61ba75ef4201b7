// The table of ops that ONNX has: a function for each, a file for each family, as in
// schemas/model/ops and runtime/model/layers.
#pragma once

#include <string_view>
#include <vector>

#include "schemas/onnx/layer_writer.h"

namespace trainyard::onnx {

struct OpWriter {
  std::string_view op;
  void (*write)(LayerWriter& layer) = nullptr;
};

const OpWriter* find_op_writer(std::string_view op);

// The families.
std::vector<OpWriter> attention_writers();
std::vector<OpWriter> dense_writers();
std::vector<OpWriter> elementwise_writers();
std::vector<OpWriter> image_writers();
std::vector<OpWriter> layout_writers();
std::vector<OpWriter> norm_writers();
std::vector<OpWriter> recurrent_writers();

// x by the nonlinearity of this name, whose arguments have their defaults but for `alpha`, which
// leaky_relu and elu have; "none" is x.
std::string activated(LayerWriter& layer, const std::string& x, std::string_view name,
                      double alpha);
// By the layer's own "activation".
std::string activated(LayerWriter& layer, const std::string& x);

}  // namespace trainyard::onnx

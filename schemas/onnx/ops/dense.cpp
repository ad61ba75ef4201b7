// Products with a kernel or of two values, tables of ids, and interactions of fields.
#include "schemas/onnx/op_writer.h"

namespace trainyard::onnx {
namespace {

// [batch, in] by one op, with the bias in it; of more axes by a product and a sum.
std::string product(LayerWriter& layer, const std::string& x, const std::string& kernel,
                    bool is_transposed) {
  const bool has_bias = layer.has_variable("bias");
  if (layer.shape().size() == 1) {
    Texts inputs{x, kernel};
    if (has_bias) inputs.push_back(layer.weight("bias"));
    return layer.add("Gemm", std::move(inputs), {{"transB", is_transposed ? 1 : 0}});
  }
  const std::string right =
      is_transposed ? layer.add("Transpose", {kernel}, {{"perm", Integers{1, 0}}}) : kernel;
  const std::string y = layer.add("MatMul", {x, right});
  return has_bias ? layer.add("Add", {y, layer.weight("bias")}) : y;
}

// Sparse features are read as a row of all columns, which is zero where nothing is said.
void dense(LayerWriter& layer) {
  const auto& tied_to = layer.layer().tied_to;
  const std::string kernel =
      tied_to ? layer.weight(layer.analysis().variables[*tied_to]) : layer.weight("kernel");
  const bool is_transposed = tied_to && layer.layer().is_tied_transposed;
  layer.gives_last(activated(layer, product(layer, layer.last(), kernel, is_transposed)));
}

void matmul(LayerWriter& layer) {
  const auto side = [&](std::size_t input, const char* flag) {
    if (!layer.flag(flag)) return layer.last(input);
    const std::size_t rank = layer.shape(input).size();
    Integers axes;
    for (std::size_t i = 0; i <= rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
    std::swap(axes[rank], axes[rank - 1]);
    return layer.add("Transpose", {layer.last(input)}, {{"perm", axes}});
  };
  const std::string left = side(0, "transpose_a");
  const std::string right = side(1, "transpose_b");
  layer.gives_last(layer.add("MatMul", {left, right}));
}

void embedding(LayerWriter& layer) {
  layer.gives_last(layer.add("Gather", {layer.weight("kernel"), layer.last()}, {{"axis", 0}}));
}

// Half of what the square of the fields' sum is more than the sum of their squares.
void fm(LayerWriter& layer) {
  const std::string x = layer.last();
  const std::string fields = layer.graph().list({1});
  const std::string features = layer.graph().list({-1});
  const std::string sum = layer.add("ReduceSum", {x, fields}, {{"keepdims", 0}});
  const std::string square_of_sum = layer.add("Mul", {sum, sum});
  const std::string squares = layer.add("Mul", {x, x});
  const std::string sum_of_squares = layer.add("ReduceSum", {squares, fields}, {{"keepdims", 0}});
  const std::string more = layer.add("Sub", {square_of_sum, sum_of_squares});
  const std::string all = layer.add("ReduceSum", {more, features}, {{"keepdims", 1}});
  layer.gives_last(layer.add("Mul", {all, layer.graph().scalar(0.5)}));
}

// Of field 1 with 0, of 2 with 0 and 1, and so on.
void pairwise_dot(LayerWriter& layer) {
  const std::string x = layer.last();
  const std::int64_t fields = layer.shape()[0];
  if (!layer.graph().has_room_for(layer.output_shape()[0])) return layer.gives_last(x);
  Integers places;
  for (std::int64_t one = 1; one < fields; ++one) {
    for (std::int64_t other = 0; other < one; ++other) places.push_back(one * fields + other);
  }
  const std::string turned = layer.add("Transpose", {x}, {{"perm", Integers{0, 2, 1}}});
  const std::string products = layer.add("MatMul", {x, turned});
  const std::string flat = layer.add_reshape(products, {fields * fields});
  layer.gives_last(layer.add("Gather", {flat, layer.graph().list(places)}, {{"axis", 1}}));
}

}  // namespace

std::vector<OpWriter> dense_writers() {
  return {{"dense", dense},
          {"matmul", matmul},
          {"embedding", embedding},
          {"fm", fm},
          {"pairwise_dot", pairwise_dot}};
}

}  // namespace trainyard::onnx

#include "runtime/model/build.h"

#include <string>

#include "runtime/model/zoo/mlp.h"

namespace trainyard::runtime {
namespace {

// 2^31 elements of one variable are 8 GiB.
constexpr std::int64_t elements_max = std::int64_t{1} << 31;

Status check_layers(const ModelSpec& spec, const DataShape& data, std::int64_t outputs) {
  std::int64_t in = data.features;
  if (in < 1) return invalid("dataset: examples have no features");
  std::size_t index = 0;
  for (const std::int64_t width : spec.hidden) {
    const std::string field = "model.hidden[" + std::to_string(index++) + "]";
    if (width < 1) return invalid(field + " must be 1 or more, got " + std::to_string(width));
    if (width > elements_max / in)
      return invalid(field + " makes a layer of more than 2^31 weights");
    in = width;
  }
  if (outputs > elements_max / in)
    return invalid("model: more than 2^31 weights in the last layer");
  return ok();
}

Status need_no_hidden(const ModelSpec& spec) {
  if (spec.hidden.empty()) return ok();
  return invalid("model.hidden: " + spec.name + " has no hidden layers; use mlp");
}

Status need_classes(const ModelSpec& spec, const DataShape& data) {
  if (data.classes >= 2) return ok();
  return invalid(
      "model.name: " + spec.name +
      " needs classes, but this data set's label is a real number (classes are names, or whole "
      "numbers 0, 1, ... that all occur)");
}

Status need_real_target(const ModelSpec& spec, const DataShape& data) {
  if (data.classes == 0) return ok();
  return invalid("model.name: " + spec.name +
                 " needs a real number as label, but this data set has " +
                 std::to_string(data.classes) +
                 " classes (whole numbers with a decimal point, 3.0, are read as real numbers)");
}

Status check_fit(const ModelSpec& spec, const DataShape& data) {
  if (spec.name == "linear_regression") {
    TRY(need_real_target(spec, data));
    return need_no_hidden(spec);
  }
  if (spec.name == "softmax_regression") {
    TRY(need_classes(spec, data));
    return need_no_hidden(spec);
  }
  if (spec.name == "mlp") return ok();  // classes or a real target
  return invalid("model.name: no model is called \"" + spec.name +
                 "\" (linear_regression, softmax_regression, mlp)");
}

}  // namespace

Result<BuiltModel> build_graph(const ModelSpec& spec, const DataShape& data) {
  const std::int64_t outputs = data.classes == 0 ? 1 : data.classes;
  TRY(check_fit(spec, data));
  TRY(check_layers(spec, data, outputs));

  BuiltModel built;
  Graph& graph = built.builder.graph;
  const NodeId features = graph.add_features({data.features});
  const NodeId output = add_mlp(built.builder, features, spec, outputs);
  if (data.classes == 0) {
    built.loss = graph.add(SquaredErrorOp{}, {output});
  } else {
    built.loss = graph.add(SoftmaxCrossEntropyOp{}, {output});
    built.matches = graph.add(MatchLabelsOp{}, {output});
  }
  return built;
}

}  // namespace trainyard::runtime

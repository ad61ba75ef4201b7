#include "runtime/model/build.h"

#include <string>

#include "runtime/model/zoo/mlp.h"
#include "runtime/model/zoo/wide_and_deep.h"

namespace trainyard::runtime {
namespace {

// 2^31 elements of one variable are 8 GiB.
constexpr std::int64_t elements_max = std::int64_t{1} << 31;

Status check_layers(const ModelSpec& spec, const DataShape& data, std::int64_t outputs) {
  if (data.features < 1) return invalid("dataset: examples have no features");
  const bool embedded = spec.name == "wide_and_deep";
  std::int64_t in = embedded ? spec.embedding_size : data.features;
  if (in < 1) return invalid("model.embedding_size must be 1 or more, got " + std::to_string(in));
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

Status need_two_classes(const ModelSpec& spec, const DataShape& data) {
  if (data.classes == 2) return ok();
  return invalid(
      "model.name: " + spec.name + " needs two classes, but this data set has " +
      (data.classes == 0 ? "a real number as label" : std::to_string(data.classes) + " classes"));
}

// A layer of some width would have a gradient of that width for every feature of the data set, at
// each step.
Status need_dense_features(const ModelSpec& spec, const DataShape& data) {
  if (data.layout == FeatureLayout::dense) return ok();
  return invalid(
      "model.name: " + spec.name +
      " needs dense features, but this data set's are sparse; use logistic_regression or "
      "wide_and_deep");
}

Status need_sparse_features(const ModelSpec& spec, const DataShape& data) {
  if (data.layout == FeatureLayout::sparse) return ok();
  return invalid("model.name: " + spec.name +
                 " needs sparse features, such as libsvm data has; use mlp for dense ones");
}

Status need_real_target(const ModelSpec& spec, const DataShape& data) {
  if (data.classes == 0) return ok();
  return invalid("model.name: " + spec.name +
                 " needs a real number as label, but this data set has " +
                 std::to_string(data.classes) +
                 " classes (whole numbers with a decimal point, 3.0, are read as real numbers)");
}

Status check_fit(const ModelSpec& spec, const DataShape& data) {
  if (spec.name == "logistic_regression") {
    TRY(need_two_classes(spec, data));
    return need_no_hidden(spec);
  }
  if (spec.name == "wide_and_deep") {
    TRY(need_sparse_features(spec, data));
    return need_two_classes(spec, data);
  }
  if (spec.name == "linear_regression") {
    TRY(need_dense_features(spec, data));
    TRY(need_real_target(spec, data));
    return need_no_hidden(spec);
  }
  if (spec.name == "softmax_regression") {
    TRY(need_dense_features(spec, data));
    TRY(need_classes(spec, data));
    return need_no_hidden(spec);
  }
  if (spec.name == "mlp") return need_dense_features(spec, data);  // classes or a real target
  return invalid(
      "model.name: no model is called \"" + spec.name +
      "\" (linear_regression, logistic_regression, softmax_regression, mlp, wide_and_deep)");
}

}  // namespace

Result<BuiltModel> build_graph(const ModelSpec& spec, const DataShape& data) {
  const bool embedded = spec.name == "wide_and_deep";
  const bool binary = embedded || spec.name == "logistic_regression";  // one logit tells two apart
  const std::int64_t outputs = data.classes == 0 || binary ? 1 : data.classes;
  TRY(check_fit(spec, data));
  TRY(check_layers(spec, data, outputs));

  BuiltModel built;
  Graph& graph = built.builder.graph;
  const NodeId features = data.layout == FeatureLayout::sparse
                              ? graph.add_sparse_features(data.features)
                              : graph.add_features({data.features});
  const NodeId output = embedded ? add_wide_and_deep(built.builder, features, spec)
                                 : add_mlp(built.builder, features, spec, outputs);
  if (binary) {
    built.loss = graph.add(SigmoidCrossEntropyOp{}, {output});
    built.matches = graph.add(MatchBinaryLabelsOp{}, {output});
  } else if (data.classes == 0) {
    built.loss = graph.add(SquaredErrorOp{}, {output});
  } else {
    built.loss = graph.add(SoftmaxCrossEntropyOp{}, {output});
    built.matches = graph.add(MatchLabelsOp{}, {output});
  }
  return built;
}

}  // namespace trainyard::runtime

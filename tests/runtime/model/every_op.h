// A small model of each op of the language, and a batch of two examples of each kind of data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/model/model.h"
#include "schemas/model/op_rule.h"

namespace trainyard::runtime::every_op {

struct Data {
  DataShape shape;
  Batch batch{.examples = 2, .features = {}, .labels = {0, 1}, .targets = {}};
};

inline Data dense_data(std::vector<std::int64_t> example, FeatureLayout layout) {
  Data data;
  data.shape = {.example = std::move(example), .features = 1, .classes = 3, .layout = layout};
  for (const std::int64_t size : data.shape.example) data.shape.features *= size;
  for (std::int64_t i = 0; i < 2 * data.shape.features; ++i) {
    data.batch.features.push_back(0.25F + 0.01F * static_cast<float>(i % 37));
  }
  if (layout == FeatureLayout::sequence) data.batch.lengths = {5, 3};
  return data;
}

inline Data id_data() {
  Data data;
  data.shape = {
      .example = {5}, .features = 5, .classes = 3, .layout = FeatureLayout::ids, .vocabulary = 7};
  data.batch.ids = {1, 2, 3, 4, 6, 5, 1, 0, 0, 0};
  data.batch.lengths = {5, 2};
  return data;
}

inline Data sparse_data() {
  Data data;
  data.shape = {.example = {9}, .features = 9, .classes = 2, .layout = FeatureLayout::sparse};
  data.batch.sparse = {.offsets = {0, 2, 3}, .columns = {1, 4, 8}, .values = {1, 2, 1}};
  return data;
}

inline std::vector<Data> all_data() {
  return {dense_data({12}, FeatureLayout::dense), dense_data({6, 6, 2}, FeatureLayout::dense),
          dense_data({5, 4}, FeatureLayout::sequence), id_data(), sparse_data()};
}

// What is required, and for lists what fits so many axes.
inline model::Arguments arguments_of(const model::OpRule& rule, std::size_t axes) {
  model::Arguments arguments;
  const auto of_axes = [axes](auto value_at) {
    model::Value::List list;
    for (std::size_t i = 0; i < axes; ++i)
      list.emplace_back(static_cast<std::int64_t>(value_at(i)));
    return list;
  };
  for (const model::ArgumentRule& argument : rule.arguments) {
    const std::string name(argument.name);
    if (name == "shape") {
      arguments.push_back({name, model::Value::List{-1}});
    } else if (name == "axes" && argument.is_required) {
      arguments.push_back({name, of_axes([axes](std::size_t i) { return axes - 1 - i; })});
    } else if (name == "before") {
      arguments.push_back({name, of_axes([](std::size_t) { return 1; })});
    } else if (name == "storage" && rule.name == "embedding_bag") {
      arguments.push_back({name, "rows"});
    } else if (name == "transpose_b") {
      arguments.push_back({name, true});
    } else if (argument.is_required) {
      arguments.push_back({name, 2});
    }
  }
  return arguments;
}

// The op on the data's field, and what makes classes of whatever it gives.
inline std::vector<model::Model> models_of(const model::OpRule& rule, std::size_t axes) {
  const model::Layer dense = model::op("dense", {{"units", "classes"}});
  model::Layer layer = model::op(std::string(rule.name), arguments_of(rule, axes));
  if (rule.inputs_least > 1) layer.in.assign(rule.inputs_least, "x");
  if (rule.name == "sdpa") layer.in.assign(3, "x");
  const model::Layer above = model::op("embedding", {{"size", 3}});
  std::vector<model::Model> models;
  for (const model::Layers& layers :
       std::vector<model::Layers>{{layer, model::op("flatten"), dense},
                                  {layer, dense},
                                  {layer, above, model::op("flatten"), dense}}) {
    models.push_back({.layers = layers, .losses = {{.op = "softmax_cross_entropy"}}});
  }
  return models;
}

inline std::string field_of(const Data& data) {
  if (data.shape.layout == FeatureLayout::ids) return "tokens";
  return data.shape.example.size() == 3 ? "image" : "features";
}

}  // namespace trainyard::runtime::every_op

// Every op of the language, on every kind of data: refused by the analysis, or built and computed.
#include <catch2/catch.hpp>
#include <set>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "runtime/model/row_batch.h"
#include "schemas/model/op_rule.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t examples = 2;

struct Data {
  DataShape shape;
  Batch batch{.examples = examples, .features = {}, .labels = {0, 1}, .targets = {}};
};

Data dense_data(std::vector<std::int64_t> example, FeatureLayout layout) {
  Data data;
  data.shape = {.example = std::move(example), .features = 1, .classes = 3, .layout = layout};
  for (const std::int64_t size : data.shape.example) data.shape.features *= size;
  for (std::int64_t i = 0; i < examples * data.shape.features; ++i) {
    data.batch.features.push_back(0.25F + 0.01F * static_cast<float>(i % 37));
  }
  if (layout == FeatureLayout::sequence) data.batch.lengths = {5, 3};
  return data;
}

Data id_data() {
  Data data;
  data.shape = {
      .example = {5}, .features = 5, .classes = 3, .layout = FeatureLayout::ids, .vocabulary = 7};
  data.batch.ids = {1, 2, 3, 4, 6, 5, 1, 0, 0, 0};
  data.batch.lengths = {5, 2};
  return data;
}

Data sparse_data() {
  Data data;
  data.shape = {.example = {9}, .features = 9, .classes = 2, .layout = FeatureLayout::sparse};
  data.batch.sparse = {.offsets = {0, 2, 3}, .columns = {1, 4, 8}, .values = {1, 2, 1}};
  return data;
}

std::vector<Data> all_data() {
  return {dense_data({12}, FeatureLayout::dense), dense_data({6, 6, 2}, FeatureLayout::dense),
          dense_data({5, 4}, FeatureLayout::sequence), id_data(), sparse_data()};
}

// What is required, and for lists what fits so many axes.
model::Arguments arguments_of(const model::OpRule& rule, std::size_t axes) {
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
std::vector<model::Model> models_of(const model::OpRule& rule, std::size_t axes) {
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

// Whether it was computed; false: it was refused, with words.
bool runs(model::Model written, const Data& data, const std::string& field) {
  written.inputs = {{"x", field}};
  auto model = Model::build(written, data.shape, {examples});
  if (!model) {
    CHECK(model.error().code == Code::invalid);
    CHECK_FALSE(model.error().message.empty());
    return false;
  }
  AlignedBuffer parameters(static_cast<std::size_t>(model->arena_elements()));
  AlignedBuffer gradients(parameters.size());
  model->initialize(1, parameters.span());
  RowBatch rows(model->rows().width());
  RowBatch* const table = model->rows().width() > 0 ? &rows : nullptr;
  if (table != nullptr) rows.assign(data.batch.sparse);
  const BatchResult result =
      model->gradient(parameters.span(), data.batch, gradients.span(), {}, table);
  CHECK(result.examples == examples);
  model->evaluate(parameters.span(), data.batch, table);
  return true;
}

std::string field_of(const Data& data) {
  if (data.shape.layout == FeatureLayout::ids) return "tokens";
  return data.shape.example.size() == 3 ? "image" : "features";
}

}  // namespace

TEST_CASE("every op of the language is computed on some data, and on all other data refused",
          "[model]") {
  for (const model::OpRule& rule : model::ops()) {
    INFO(rule.name);
    int computed = 0;
    for (const Data& data : all_data()) {
      INFO("example of " << data.shape.example.size() << " axes, layout "
                         << static_cast<int>(data.shape.layout));
      for (const model::Model& written : models_of(rule, data.shape.example.size())) {
        if (runs(written, data, field_of(data))) ++computed;
      }
    }
    CHECK(computed > 0);
  }
}

}  // namespace trainyard::runtime

// Exports are valid by the standard's own checker, with the shapes of the analysis, or refused.
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "schemas/model/exportable.h"
#include "schemas/model/op_rule.h"
#include "schemas/onnx/op_writer.h"
#include "tests/golden/golden.h"
#include "tests/schemas/onnx/runtime_case.h"

namespace trainyard::onnx {
namespace {

using nlohmann::json;

// Weights as inputs of the graph: the checker asks for no numbers then, of which there are many.
ModelProto with_weights_as_inputs(const OnnxModel& model) {
  ModelProto proto = model.proto;
  for (const Weight& weight : model.weights) {
    ValueInfoProto& input = *proto.mutable_graph()->add_input();
    input.set_name(weight.name);
    auto* const tensor = input.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(TensorProto::FLOAT);
    tensor->mutable_shape();
    for (const std::int64_t size : weight.shape)
      tensor->mutable_shape()->add_dim()->set_dim_value(size);
  }
  return proto;
}

Integers sizes_of(const ValueInfoProto& info) {
  Integers sizes;
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    sizes.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
  return sizes;
}

// What is valid, and every tensor that is named after a layer has the layer's shape.
void check_export(const model::Analysis& analysis, Lengths lengths) {
  const auto exported = export_model({.analysis = analysis, .lengths = lengths});
  if (!exported) FAIL(exported.error().message);
  ModelProto proto = with_weights_as_inputs(*exported);
  CHECK_NOTHROW(::onnx::checker::check_model(proto));
  ::onnx::ShapeInferenceOptions options;
  options.check_type = true;
  options.error_mode = 1;
  options.enable_data_propagation = true;
  CHECK_NOTHROW(
      ::onnx::shape_inference::InferShapes(proto, ::onnx::OpSchemaRegistry::Instance(), options));
  std::map<std::string, Integers> inferred;
  for (const auto& info : proto.graph().value_info()) inferred[info.name()] = sizes_of(info);
  for (const auto& info : proto.graph().output()) inferred[info.name()] = sizes_of(info);
  std::size_t compared = 0;
  for (const model::AnalysedLayer& layer : analysis.layers) {
    const auto found = inferred.find(layer.name);
    if (found == inferred.end()) continue;
    INFO(layer.name);
    Integers wanted{-1};
    wanted.insert(wanted.end(), layer.shape->begin(), layer.shape->end());
    CHECK(found->second == wanted);
    ++compared;
  }
  CHECK(compared > 0);
  const auto pieces = file_pieces(*exported);
  CHECK(pieces.has_value());
}

model::Analysis analysed(const json& model, const json& facts) {
  return model::analyse(written_of(model), facts_of(facts), {.micro_batch = 16});
}

const json features{{"features", 12}, {"classes", 3}};

}  // namespace

TEST_CASE("each model of the zoo is a valid ONNX model, or has rows of tables", "[onnx]") {
  std::size_t refused = 0;
  for (const json& golden : load_golden("zoo.json")) {
    INFO(golden.dump());
    json call = golden.at("arguments");
    call["name"] = golden.at("name");
    const model::Analysis analysis = analysed(call, golden.at("facts"));
    for (const Fault& fault : analysis.faults) FAIL_CHECK(fault.pointer + " " + fault.message);
    if (!model::not_in_onnx(analysis).empty()) {
      ++refused;
      CHECK_FALSE(export_model({.analysis = analysis}));
      continue;
    }
    const bool has_tokens = golden.at("facts").contains("tokens");
    check_export(analysis, Lengths::none);
    if (has_tokens) check_export(analysis, Lengths::given);
  }
  CHECK(refused >= 1);
}

TEST_CASE("each op of the language has its nodes in ONNX, or is refused", "[onnx]") {
  for (const model::OpRule& rule : model::ops()) {
    const bool is_spelled_out = rule.layers > 1;
    if (is_spelled_out || rule.name == "embedding_bag") continue;
    INFO(rule.name);
    CHECK(find_op_writer(rule.name) != nullptr);
  }
}

TEST_CASE("what ONNX cannot express is refused with the layer's pointer and op", "[onnx]") {
  const json bag{{"layers",
                  {{{"op", "embedding_bag"}, {"size", 4}, {"storage", "rows"}},
                   {{"op", "dense"}, {"units", "classes"}}}},
                 {"loss", "softmax_cross_entropy"}};
  const model::Analysis analysis = analysed(bag, {{"sparse", 50}, {"classes", 3}});

  const auto exported = export_model({.analysis = analysis});

  REQUIRE_FALSE(exported);
  CHECK(exported.error().code == Code::invalid);
  CHECK(exported.error().message.starts_with("/model/layers/0: embedding_bag of embedding_bag_0 "));
}

TEST_CASE("of the zoo the pointer is the model's, and the layer's place is said", "[onnx]") {
  const model::Written written = written_of("wide_and_deep");
  const auto facts = facts_of({{"sparse", 50}, {"classes", 2}});
  const model::Analysis analysis = model::analyse(written, facts, {});

  const std::vector<Fault> faults = model::not_in_onnx(written, analysis, "/model");

  REQUIRE(faults.size() == 2);
  CHECK(faults.front().pointer == "/model");
  CHECK(faults.front().message.ends_with("(in what it stands for, at /layers/0)"));
}

TEST_CASE("a size that nobody knows is said, with the layer", "[onnx]") {
  const json model{{"layers", {"flatten", {{"op", "dense"}, {"units", "classes"}}}},
                   {"loss", "softmax_cross_entropy"}};
  model::Facts facts = facts_of({{"image", {28, 28, 1}}, {"classes", 10}});
  facts.fields.front().shape = model::Sizes{model::unknown_size, 28, 1};
  const model::Analysis analysis = model::analyse(written_of(model), facts, {});

  const auto exported = export_model({.analysis = analysis});

  REQUIRE_FALSE(exported);
  CHECK(exported.error().code == Code::conflict);
  CHECK(exported.error().message.find("image") != std::string::npos);
}

TEST_CASE("a model of more than 2 GiB is refused before any number is read", "[onnx]") {
  const json model{{"layers",
                    {{{"op", "dense"}, {"units", 60'000}},
                     {{"op", "dense"}, {"units", 10'000}},
                     {{"op", "dense"}, {"units", "classes"}}}},
                   {"loss", "softmax_cross_entropy"}};
  const auto exported = export_model({.analysis = analysed(model, features)});
  REQUIRE(exported);

  const auto pieces = file_pieces(*exported);

  REQUIRE_FALSE(pieces);
  CHECK(pieces.error().message.find("2 GiB") != std::string::npos);
}

TEST_CASE("tables that a hostile size would make are refused before they are made", "[onnx]") {
  const json model{{"layers",
                    {{{"op", "rope"}, {"heads", 1}},
                     {{"op", "reduce"}, {"axes", {0}}},
                     {{"op", "dense"}, {"units", "classes"}}}},
                   {"loss", "softmax_cross_entropy"}};
  const auto exported = export_model(
      {.analysis = analysed(model, {{"sequence", {100'000'000, 1000}}, {"classes", 3}})});

  REQUIRE_FALSE(exported);
  CHECK(exported.error().message.find("too large") != std::string::npos);
}

TEST_CASE("images stay channels first between the ends of a stretch of image layers", "[onnx]") {
  const model::Analysis analysis = analysed("resnet18", {{"image", {64, 64, 3}}, {"classes", 10}});
  const auto exported = export_model({.analysis = analysis});
  REQUIRE(exported);

  std::size_t transposes = 0;
  for (const NodeProto& node : exported->proto.graph().node()) {
    if (node.op_type() == "Transpose") ++transposes;
  }
  CHECK(transposes == 1);
}

TEST_CASE("a file says who made it, of what, and is the same each time", "[onnx]") {
  const model::Analysis analysis = analysed("mlp", features);
  const ExportRequest request{.analysis = analysis, .name = "digits", .metadata = {{"step", "7"}}};
  const auto zeros = [&](const std::string& name) {
    const auto& variables = analysis.variables;
    const auto found = std::ranges::find(variables, name, &model::Variable::name);
    return Floats(static_cast<std::size_t>(*found->elements), 0.0F);
  };

  const std::string file = file_of(*export_model(request), zeros);

  CHECK(file == file_of(*export_model(request), zeros));
  ModelProto proto;
  REQUIRE(proto.ParseFromString(file));
  CHECK(proto.producer_name() == "trainyard");
  CHECK(proto.ir_version() == 8);
  CHECK(proto.opset_import(0).version() == 17);
  CHECK(proto.metadata_props(0).value() == "7");
  CHECK(proto.graph().name() == "digits");
  CHECK(proto.graph().input(0).name() == "features");
  CHECK(proto.graph().output(0).name() == "dense_1");
  CHECK(proto.graph().initializer(0).name() == "dense_0/kernel");
  CHECK_NOTHROW(::onnx::checker::check_model(proto));
}

}  // namespace trainyard::onnx

#include "tests/schemas/onnx/runtime_case.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "runtime/graph/executor.h"
#include "runtime/model/feed.h"
#include "runtime/model/graph_walk.h"
#include "runtime/model/initial_values.h"
#include "schemas/wire/model_json.h"
#include "tests/support/temp_folder.h"

namespace trainyard::onnx {
namespace {

using nlohmann::json;

constexpr std::int64_t examples = 3;
constexpr int training_steps = 3;
constexpr int averaging_steps =
    40;  // after them: running averages alone, until they are the data's
constexpr float learning_rate = 0.01F;

std::int64_t product_of(const model::Sizes& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

json described(const char* type, const Integers& shape, const auto& values) {
  return {{"type", type}, {"shape", shape}, {"values", values}};
}

}  // namespace

model::Facts facts_of(const json& written) {
  model::Facts facts{.dataset = "made"};
  const auto add = [&](const char* name, model::Sizes shape, model::ElementKind kind,
                       std::int64_t ids) {
    facts.fields.push_back({name, shape, kind, ids});
  };
  using enum model::ElementKind;
  const auto as_list = [&](const char* name) {
    return written.at(name).is_array() ? written.at(name).get<model::Sizes>()
                                       : model::Sizes{written.at(name).get<std::int64_t>()};
  };
  if (written.contains("image")) add("image", as_list("image"), number, -1);
  if (written.contains("sequence")) add("features", as_list("sequence"), number, -1);
  if (written.contains("features")) add("features", as_list("features"), number, -1);
  if (written.contains("sparse")) add("features", as_list("sparse"), sparse, -1);
  if (written.contains("tokens")) add("tokens", as_list("tokens"), id, written.at("vocabulary"));
  if (written.contains("numeric")) add("numeric", as_list("numeric"), number, -1);
  if (written.contains("categorical")) add("categorical", as_list("categorical"), id, 1'000'000);
  for (const char* const one : {"user", "item"}) {
    if (written.contains(one)) add(one, {}, id, written.at(one).get<std::int64_t>());
  }
  facts.label_kind = model::LabelKind::number;
  const auto fact = [&](const char* name, std::optional<std::int64_t>& out, model::LabelKind kind) {
    if (!written.contains(name)) return;
    out = written.at(name).get<std::int64_t>();
    if (facts.label_kind == model::LabelKind::number) facts.label_kind = kind;
  };
  fact("classes", facts.classes, model::LabelKind::class_index);
  fact("symbols", facts.symbols, model::LabelKind::symbols);
  fact("vocabulary", facts.vocabulary, model::LabelKind::tokens);
  if (written.contains("categorical")) {
    facts.classes = 2;
    facts.label_kind = model::LabelKind::class_index;
  }
  if (written.contains("user")) facts.label_kind = model::LabelKind::none;
  return facts;
}

model::Written written_of(const json& model) {
  std::vector<Fault> faults;
  auto written = model::parse_model(model, "/model", faults);
  for (const Fault& fault : faults) UNSCOPED_INFO(fault.pointer + " " + fault.message);
  REQUIRE(written.has_value());
  REQUIRE(faults.empty());
  return *std::move(written);
}

std::string file_of(const OnnxModel& model, const NumbersOf& numbers_of) {
  std::string file;
  const auto pieces = file_pieces(model);
  REQUIRE(pieces);
  for (const FilePiece& piece : *pieces) {
    file += piece.bytes;
    if (piece.weight == nullptr) continue;
    std::vector<Floats> variables;
    for (const std::string& name : piece.weight->variables) variables.push_back(numbers_of(name));
    const Floats numbers =
        piece.weight->arrange ? piece.weight->arrange(variables) : variables.front();
    REQUIRE(std::ssize(numbers) * 4 == weight_bytes(*piece.weight));
    file.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * 4);
  }
  return file;
}

RuntimeCase::RuntimeCase(const json& model, const json& facts, Lengths lengths)
    : facts_(facts_of(facts)),
      analysis_(model::analyse(written_of(model), facts_, {.micro_batch = examples})),
      lengths_(lengths) {
  for (const Fault& fault : analysis_.faults) UNSCOPED_INFO(fault.pointer + " " + fault.message);
  REQUIRE(analysis_.faults.empty());
  make_batch();
  make_labels();
}

void RuntimeCase::make_batch() {
  std::minstd_rand random(7);
  std::uniform_real_distribution<float> number(-1, 1);
  batch_.examples = examples;
  const model::AnalysedLayer& input = analysis_.layers.front();
  const std::int64_t each = product_of(*input.shape);
  if (input.kind == model::ElementKind::sparse) {
    batch_.sparse.offsets = {0};
    for (std::int64_t e = 0; e < examples; ++e) {
      for (std::int64_t column = e; column < each; column += 3) {
        batch_.sparse.columns.push_back(static_cast<std::int32_t>(column));
        batch_.sparse.values.push_back(number(random));
      }
      batch_.sparse.offsets.push_back(std::ssize(batch_.sparse.columns));
    }
    return;
  }
  if (lengths_ == Lengths::given) {
    const auto time = static_cast<std::int32_t>(input.shape->front());
    batch_.lengths = {time, time / 2, 1};
  }
  for (std::int64_t i = 0; i < examples * each; ++i) {
    const std::int64_t row = each / input.shape->front();  // numbers of a step
    const auto example = static_cast<std::size_t>(i / each);
    const bool is_there = batch_.lengths.empty() || i % each / row < batch_.lengths[example];
    if (input.kind == model::ElementKind::id) {
      batch_.ids.push_back(is_there ? static_cast<std::int32_t>(random() % 7 + 1) : 0);
    } else {
      batch_.features.push_back(is_there ? number(random) : 0);
    }
  }
}

// Of whatever the loss reads, as these tests are about what comes before it.
void RuntimeCase::make_labels() {
  batch_.labels = {0, 1, 0};
  batch_.targets = {0.5F, -1, 2};
  batch_.symbols = {1, 2, 1};
  batch_.symbol_offsets = {0, 1, 2, 3};
  const std::int64_t time = analysis_.layers.front().shape->front();
  batch_.token_labels.assign(static_cast<std::size_t>(examples * time), 1);
}

// A few steps, so that running averages are those of data; then biases and the like are moved a
// little, so that none is zero and a variance stays one.
void RuntimeCase::train(runtime::NodeId scores, std::vector<float>& outputs) {
  runtime::BuiltModel built = runtime::GraphWalk(analysis_, facts_).run();
  variables_.assign(built.builder.graph.variables().begin(), built.builder.graph.variables().end());
  parameters_.assign(static_cast<std::size_t>(built.builder.graph.arena_elements()), 0.0F);
  const auto range_of = [](std::vector<float>& of, const runtime::Variable& variable) {
    return std::span(of).subspan(static_cast<std::size_t>(variable.offset),
                                 static_cast<std::size_t>(variable.elements));
  };
  for (std::uint32_t i = 0; i < variables_.size(); ++i) {
    runtime::set_initial_values(built.builder.initial[i], 1, i, variables_[i].shape,
                                range_of(parameters_, variables_[i]));
  }
  runtime::Executor executor(
      std::move(built.builder.graph),
      {.examples = examples, .loss = built.loss, .outputs = {built.loss, scores}});
  const runtime::Feed feed = runtime::feed_of(batch_, nullptr, 3);
  std::vector<float> gradients(parameters_.size());
  const bool has_averages = std::ranges::count(variables_, runtime::UpdateRule::running_average,
                                               &runtime::Variable::update) > 0;
  for (int step = 0; step < training_steps + (has_averages ? averaging_steps : 0); ++step) {
    executor.forward(parameters_, feed, runtime::Pass::train);
    executor.backward(parameters_, feed, gradients, {});
    for (const runtime::Variable& variable : variables_) {
      const std::span<float> values = range_of(parameters_, variable);
      const std::span<float> sums = range_of(gradients, variable);
      const bool is_average = variable.update == runtime::UpdateRule::running_average;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float mean = sums[i] / static_cast<float>(examples);
        values[i] += is_average ? static_cast<float>(variable.momentum) * (mean - values[i])
                     : step < training_steps ? -learning_rate * mean
                                             : 0;
      }
    }
  }
  std::minstd_rand random(11);
  std::uniform_real_distribution<float> little(-0.1F, 0.1F);
  for (const runtime::Variable& variable : variables_) {
    if (variable.shape.size() != 1) continue;
    const bool is_variance = variable.name.ends_with("/variance");
    for (float& value : range_of(parameters_, variable)) {
      value = is_variance ? value * (1 + little(random)) : value + little(random);
    }
  }
  executor.forward(parameters_, feed, runtime::Pass::evaluate);
  const auto values = executor.value(scores).span();
  outputs.assign(values.begin(), values.end());
}

json RuntimeCase::inputs() const {
  const model::AnalysedLayer& input = analysis_.layers.front();
  Integers shape{examples};
  shape.insert(shape.end(), input.shape->begin(), input.shape->end());
  json inputs;
  if (input.kind == model::ElementKind::id) {
    inputs[input.name] = described("int64", shape, batch_.ids);
  } else if (input.kind == model::ElementKind::sparse) {
    const std::int64_t columns = input.shape->front();
    std::vector<float> rows(static_cast<std::size_t>(examples * columns), 0.0F);
    for (std::size_t e = 0; e < examples; ++e) {
      for (auto i = batch_.sparse.offsets[e]; i < batch_.sparse.offsets[e + 1]; ++i) {
        const auto at = static_cast<std::size_t>(i);
        rows[e * static_cast<std::size_t>(columns) +
             static_cast<std::size_t>(batch_.sparse.columns[at])] = batch_.sparse.values[at];
      }
    }
    inputs[input.name] = described("float32", shape, rows);
  } else {
    inputs[input.name] = described("float32", shape, batch_.features);
  }
  if (!batch_.lengths.empty()) inputs["lengths"] = described("int32", {examples}, batch_.lengths);
  return inputs;
}

void RuntimeCase::write(const std::string& folder, const std::string& name) {
  const runtime::BuiltModel built = runtime::GraphWalk(analysis_, facts_).run();
  const runtime::NodeId scores = built.builder.graph.nodes()[built.loss].inputs.front();
  std::vector<float> outputs;
  train(scores, outputs);

  const auto exported = export_model({.analysis = analysis_, .lengths = lengths_});
  if (!exported) FAIL(exported.error().message);
  const auto numbers_of = [&](const std::string& variable) {
    const auto found = std::ranges::find(variables_, variable, &runtime::Variable::name);
    REQUIRE(found != variables_.end());
    const auto begin = parameters_.begin() + found->offset;
    return Floats(begin, begin + found->elements);
  };
  write_content(folder + "/" + name + ".onnx", file_of(*exported, numbers_of));
  const std::string& output = analysis_.layers[analysis_.losses.front().in.front()].name;
  const json written{{"inputs", inputs()}, {"outputs", {{output, outputs}}}};
  write_content(folder + "/" + name + ".json", written.dump());
}

}  // namespace trainyard::onnx

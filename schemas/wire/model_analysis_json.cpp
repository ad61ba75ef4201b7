#include "schemas/wire/model_analysis_json.h"

#include <optional>
#include <string>
#include <vector>

#include "schemas/model/exportable.h"
#include "schemas/types/names.h"
#include "schemas/wire/model_json.h"

namespace trainyard::model {
namespace {

using nlohmann::ordered_json;

constexpr NameTable<ElementKind, 3> kind_names{
    {{ElementKind::number, "number"}, {ElementKind::id, "id"}, {ElementKind::sparse, "sparse"}}};
constexpr NameTable<VariableRole, 3> role_names{{{VariableRole::parameter, "parameter"},
                                                 {VariableRole::state, "state"},
                                                 {VariableRole::row_table, "row_table"}}};
constexpr NameTable<StartKind, 6> start_names{{{StartKind::constant, "constant"},
                                               {StartKind::normal, "normal"},
                                               {StartKind::uniform, "uniform"},
                                               {StartKind::truncated_normal, "truncated_normal"},
                                               {StartKind::orthogonal, "orthogonal"},
                                               {StartKind::forget_gate, "forget_gate"}}};

ordered_json or_null(std::optional<std::int64_t> number) {
  return number ? ordered_json(*number) : ordered_json(nullptr);
}

ordered_json sizes_to_json(const Sizes& sizes) {
  ordered_json array = ordered_json::array();
  for (const std::int64_t size : sizes) {
    array.push_back(size == unknown_size ? ordered_json(nullptr) : ordered_json(size));
  }
  return array;
}

ordered_json names_to_json(const Analysis& analysis, const std::vector<std::size_t>& layers) {
  ordered_json names = ordered_json::array();
  for (const std::size_t layer : layers) names.push_back(analysis.layers.at(layer).name);
  return names;
}

ordered_json variable_to_json(const Variable& variable) {
  ordered_json object = {
      {"name", variable.name},
      {"shape", sizes_to_json(variable.shape)},
      {"role", find_name(role_names, variable.role)},
      {"start",
       {{"kind", find_name(start_names, variable.start.kind)}, {"scale", variable.start.scale}}}};
  if (variable.is_frozen) object["frozen"] = true;
  return object;
}

ordered_json analysed_layer_to_json(const Analysis& analysis, const AnalysedLayer& layer) {
  ordered_json object = {
      {"name", layer.name},
      {"op", layer.op},
      {"in", names_to_json(analysis, layer.in)},
      {"shape", layer.shape ? sizes_to_json(*layer.shape) : ordered_json(nullptr)},
      {"kind", find_name(kind_names, layer.kind)},
      {"parameters", or_null(layer.parameters)},
      {"state", or_null(layer.state)},
      {"forward_flops", or_null(layer.forward_flops)},
      {"backward_flops", or_null(layer.backward_flops)},
      {"kept_bytes", or_null(layer.kept_bytes)},
      {"arguments", arguments_to_json(layer.arguments)}};
  ordered_json& variables = object["variables"] = ordered_json::array();
  for (const std::size_t variable : layer.variables) {
    variables.push_back(variable_to_json(analysis.variables.at(variable)));
  }
  if (layer.tied_to) object["tied_to"] = analysis.variables.at(*layer.tied_to).name;
  if (layer.recompute_block) object["recompute_block"] = *layer.recompute_block;
  object["pointer"] = layer.pointer;
  return object;
}

ordered_json analysed_terms_to_json(const Analysis& analysis,
                                    const std::vector<AnalysedTerm>& terms) {
  ordered_json array = ordered_json::array();
  for (const AnalysedTerm& term : terms) {
    array.push_back({{"op", term.op},
                     {"in", names_to_json(analysis, term.in)},
                     {"target", term.target},
                     {"arguments", arguments_to_json(term.arguments)},
                     {"pointer", term.pointer}});
  }
  return array;
}

ordered_json worker_to_json(const WorkerMemory& memory) {
  return {{"parameters", or_null(memory.parameters)}, {"gradients", or_null(memory.gradients)},
          {"slots", or_null(memory.slots)},           {"kept", or_null(memory.kept)},
          {"scratch", or_null(memory.scratch)},       {"total", or_null(memory.total)}};
}

ordered_json faults_to_json(const std::vector<Fault>& faults) {
  ordered_json array = ordered_json::array();
  for (const Fault& fault : faults) {
    array.push_back({{"pointer", fault.pointer}, {"message", fault.message}});
  }
  return array;
}

ordered_json ps_to_json(const PsMemory& memory) {
  return {{"parameters", or_null(memory.parameters)},
          {"slots", or_null(memory.slots)},
          {"total", or_null(memory.total)}};
}

}  // namespace

ordered_json analysis_to_json(const Analysis& analysis) {
  ordered_json layers = ordered_json::array();
  for (const AnalysedLayer& layer : analysis.layers) {
    layers.push_back(analysed_layer_to_json(analysis, layer));
  }
  return {{"layers", std::move(layers)},
          {"losses", analysed_terms_to_json(analysis, analysis.losses)},
          {"metrics", analysed_terms_to_json(analysis, analysis.metrics)},
          {"parameters", or_null(analysis.parameters)},
          {"state", or_null(analysis.state)},
          {"row_columns", analysis.row_columns},
          {"forward_flops", or_null(analysis.forward_flops)},
          {"backward_flops", or_null(analysis.backward_flops)},
          {"kept_bytes", or_null(analysis.kept_bytes)},
          {"memory_bytes",
           {{"worker", worker_to_json(analysis.worker)},
            {"gpu", analysis.gpu ? worker_to_json(*analysis.gpu) : ordered_json()},
            {"ps", ps_to_json(analysis.ps)}}},
          {"not_in_onnx", faults_to_json(not_in_onnx(analysis))}};
}

}  // namespace trainyard::model

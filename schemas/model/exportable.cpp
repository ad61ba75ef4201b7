#include "schemas/model/exportable.h"

#include <algorithm>
#include <variant>

namespace trainyard::model {
namespace {

bool has_rows(const Analysis& analysis, const AnalysedLayer& layer) {
  const auto is_rows = [&](std::size_t variable) {
    return analysis.variables[variable].role == VariableRole::row_table;
  };
  return std::ranges::any_of(layer.variables, is_rows) ||
         (layer.tied_to && is_rows(*layer.tied_to));
}

}  // namespace

std::vector<Fault> not_in_onnx(const Analysis& analysis) {
  std::vector<Fault> faults;
  for (const AnalysedLayer& layer : analysis.layers) {
    // A bag of sparse rows is a lookup of any number of ids, whatever its table's storage.
    if (layer.op != "embedding_bag" && !has_rows(analysis, layer)) continue;
    Fault fault{.pointer = layer.pointer, .message = {}};
    fault.message = layer.op + " of " + layer.name +
                    " cannot be expressed in ONNX: it reads rows of a table by the ids of sparse "
                    "features, and the table has only the rows that were learned";
    if (std::ranges::find(faults, fault) == faults.end()) faults.push_back(std::move(fault));
  }
  return faults;
}

std::vector<Fault> not_in_onnx(const Written& written, const Analysis& analysis,
                               const std::string& pointer) {
  std::vector<Fault> faults = not_in_onnx(analysis);
  if (std::holds_alternative<Model>(written)) return faults;
  for (Fault& fault : faults) {
    fault.message += " (in what it stands for, at " + fault.pointer.substr(pointer.size()) + ")";
    fault.pointer = pointer;
  }
  return faults;
}

}  // namespace trainyard::model

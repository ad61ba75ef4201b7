// A model of a few examples, trained a few steps by the runtime: its export to ONNX, and what the
// runtime's own evaluation gives.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/model/build.h"
#include "schemas/model/analysis.h"
#include "schemas/onnx/file_pieces.h"
#include "schemas/onnx/graph_scribe.h"

namespace trainyard::onnx {

// Facts as tests/golden/zoo.json writes them: {"image": [28, 28, 1], "classes": 10}, {"tokens": 9,
// "vocabulary": 30, "classes": 2}, {"sequence": [9, 4], ..}, {"features": 13}, {"sparse": 40, ..}.
model::Facts facts_of(const nlohmann::json& written);
model::Written written_of(const nlohmann::json& model);

// The whole file, with weights that `numbers_of` gives by their variables' names.
using NumbersOf = std::function<Floats(const std::string&)>;
std::string file_of(const OnnxModel& model, const NumbersOf& numbers_of);

class RuntimeCase {
 public:
  RuntimeCase(const nlohmann::json& model, const nlohmann::json& facts, Lengths lengths);

  [[nodiscard]] const model::Analysis& analysis() const { return analysis_; }
  // NAME.onnx and NAME.json, as check_onnx.py reads them.
  void write(const std::string& folder, const std::string& name);

 private:
  void make_batch();
  void make_labels();
  void train(runtime::NodeId scores, std::vector<float>& outputs);
  [[nodiscard]] nlohmann::json inputs() const;

  model::Facts facts_;
  model::Analysis analysis_;
  Lengths lengths_;
  runtime::Batch batch_;
  std::vector<float> parameters_;
  std::vector<runtime::Variable> variables_;
};

}  // namespace trainyard::onnx

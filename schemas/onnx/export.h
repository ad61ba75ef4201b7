// A trained model as an ONNX model: the graph with its constants, and the weights that are still to
// be filled in from a checkpoint. Pure: what a file of it holds, file_pieces() says.
//
// Inputs are the data set's fields, as its examples are after normalisation, and "lengths" where
// the data has lengths and a layer heeds them. Outputs are what the losses read (scores: no softmax
// is added), named by their layers. The size of a batch is open, all else is fixed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/model/analysis.h"
#include "schemas/onnx/onnx_proto.h"
#include "schemas/onnx/weight.h"

namespace trainyard::onnx {

inline constexpr std::int64_t opset = 17;
inline constexpr std::int64_t ir_version = 8;

// Whether examples of the data set have lengths.
enum class Lengths { none, given };

struct ExportRequest {
  const model::Analysis& analysis;  // without faults
  Lengths lengths = Lengths::none;
  std::string name = "model";                        // of the graph
  std::map<std::string, std::string> metadata = {};  // for those who read the file
};

struct OnnxModel {
  ModelProto proto;
  std::vector<Weight> weights;  // initializers of the graph that are not in `proto`
};

// `conflict` where a size is not known; `invalid`, with the layer's pointer and op, where ONNX
// cannot express it (schemas/model/exportable.h has all of these at once).
Result<OnnxModel> export_model(const ExportRequest& request);

}  // namespace trainyard::onnx

// The bytes of an ONNX file: one protobuf message, cut so that the weights need not be in memory.
// Sizes stand in front of what they measure, so all of them are worked out first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/onnx/export.h"

namespace trainyard::onnx {

// Bytes, and behind them the numbers of a weight, float32 and little-endian, where there is one.
struct FilePiece {
  std::string bytes;
  const Weight* weight = nullptr;
};

// In the order of the file. The model must outlive them. `invalid` where the file would be larger
// than a protobuf message can be (2 GiB).
Result<std::vector<FilePiece>> file_pieces(const OnnxModel& model);

std::int64_t weight_bytes(const Weight& weight);

}  // namespace trainyard::onnx

#include "schemas/onnx/op_writer.h"

#include <algorithm>

namespace trainyard::onnx {
namespace {

std::vector<OpWriter> all_writers() {
  std::vector<OpWriter> all;
  for (const auto& family :
       {attention_writers(), dense_writers(), elementwise_writers(), image_writers(),
        layout_writers(), norm_writers(), recurrent_writers()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace

const OpWriter* find_op_writer(std::string_view op) {
  static const std::vector<OpWriter> writers = all_writers();
  const auto found = std::ranges::find(writers, op, &OpWriter::op);
  return found == writers.end() ? nullptr : &*found;
}

}  // namespace trainyard::onnx

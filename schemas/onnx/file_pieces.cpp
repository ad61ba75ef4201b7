#include "schemas/onnx/file_pieces.h"

#include <google/protobuf/wire_format_lite.h>

#include <utility>

namespace trainyard::onnx {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr std::int64_t file_bytes_max = (std::int64_t{1} << 31) - 1;

void append_varint(std::string& bytes, std::uint32_t number) {
  constexpr std::uint32_t low = 0x7F;
  constexpr std::uint32_t more = 0x80;
  constexpr int step = 7;
  for (; number > low; number >>= step) bytes += static_cast<char>((number & low) | more);
  bytes += static_cast<char>(number);
}

// What stands before a field that is a message or bytes.
void append_head(std::string& bytes, int field, std::int64_t length) {
  append_varint(bytes, WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  append_varint(bytes, static_cast<std::uint32_t>(length));
}

// A TensorProto but for its numbers, which are its last field.
std::string tensor_without_numbers(const Weight& weight) {
  TensorProto tensor;
  for (const std::int64_t size : weight.shape) tensor.add_dims(size);
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.set_name(weight.name);
  std::string bytes = tensor.SerializeAsString();
  append_head(bytes, TensorProto::kRawDataFieldNumber, weight_bytes(weight));
  return bytes;
}

Error too_large() {
  return invalid(
      "the model is larger than 2 GiB, and an ONNX file, which is one protobuf message, cannot be: "
      "download it as safetensors");
}

}  // namespace

std::int64_t weight_bytes(const Weight& weight) {
  std::int64_t bytes = sizeof(float);
  for (const std::int64_t size : weight.shape) bytes *= size;  // an analysis bounds it
  return bytes;
}

Result<std::vector<FilePiece>> file_pieces(const OnnxModel& model) {
  std::vector<FilePiece> pieces;
  std::string graph = model.proto.graph().SerializeAsString();
  std::int64_t graph_bytes = std::ssize(graph);
  for (const Weight& weight : model.weights) {
    const std::string tensor = tensor_without_numbers(weight);
    const std::int64_t numbers = weight_bytes(weight);
    if (numbers > file_bytes_max - graph_bytes) return too_large();
    FilePiece piece{.bytes = {}, .weight = &weight};
    append_head(piece.bytes, GraphProto::kInitializerFieldNumber, std::ssize(tensor) + numbers);
    piece.bytes += tensor;
    graph_bytes += std::ssize(piece.bytes) + numbers;
    pieces.push_back(std::move(piece));
  }
  ModelProto rest = model.proto;
  rest.clear_graph();
  FilePiece first{.bytes = rest.SerializeAsString()};
  append_head(first.bytes, ModelProto::kGraphFieldNumber, graph_bytes);
  if (graph_bytes > file_bytes_max - std::ssize(first.bytes)) return too_large();
  first.bytes += graph;
  pieces.insert(pieces.begin(), std::move(first));
  return pieces;
}

}  // namespace trainyard::onnx

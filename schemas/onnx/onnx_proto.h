// ONNX's own messages (libonnx-dev), under names that do not clash with this folder's namespace.
#pragma once

#include <onnx/onnx_pb.h>

namespace trainyard::onnx {

using ModelProto = ::onnx::ModelProto;
using GraphProto = ::onnx::GraphProto;
using NodeProto = ::onnx::NodeProto;
using TensorProto = ::onnx::TensorProto;
using ValueInfoProto = ::onnx::ValueInfoProto;
using AttributeProto = ::onnx::AttributeProto;

}  // namespace trainyard::onnx

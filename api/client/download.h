// Downloads a checkpoint to a file that appears whole or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "api/client/rest.h"

namespace trainyard::client {

// safetensors is looked into; of an ONNX file the first bytes and the hash say enough.
enum class ModelFormat { safetensors, onnx };

struct Download {
  std::string path;       // of the REST call
  std::string file;       // where to
  bool replaces = false;  // whether a file that is there already may be lost
  ModelFormat format = ModelFormat::safetensors;
};
struct Downloaded {
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;  // of a safetensors file
  std::string sha256;
};

// Streams into "<file>.part", goes on where a broken transfer ended (Range, If-Range), checks that
// the file is whole and of the format, then renames it over `file`.
Result<Downloaded> download_model(Rest& rest, const Download& download);

}  // namespace trainyard::client

// The model of a checkpoint as an ONNX file: the graph of the job's model, with the numbers of the
// safetensors file that was put together of the checkpoint (model_file.h).
#pragma once

#include <string>

#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::scheduler {

struct OnnxSource {
  const JobSpec& spec;     // of the job
  std::string model_file;  // the safetensors file
};

// Written aside, then put at `path`; on an error nothing stays. Variables are copied piece by
// piece; one that ONNX has in another order is held in memory, twice. `invalid` where ONNX cannot
// express the model, or the file would have more than 2 GiB; `conflict` where the checkpoint does
// not fit the spec, or does not say what only the data's files tell.
Status write_onnx_file(const OnnxSource& source, const std::string& path);

}  // namespace trainyard::scheduler

// What a model has that ONNX cannot express: rows of tables that lie on the ps and grow with the
// data are no tensor of a model. Everything else of the language has nodes (schemas/onnx/ops).
#pragma once

#include <string>
#include <vector>

#include "schemas/base/fault.h"
#include "schemas/model/analysis.h"
#include "schemas/model/written.h"

namespace trainyard::model {

// Of the layers that a loss depends on, with their pointers and ops.
std::vector<Fault> not_in_onnx(const Analysis& analysis);

// The same of what a user wrote: of a name of the zoo the layers are not the user's, and its
// pointer is the model's.
std::vector<Fault> not_in_onnx(const Written& written, const Analysis& analysis,
                               const std::string& pointer);

}  // namespace trainyard::model

// A fully connected layer, of dense or of sparse features.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/model/model_builder.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

struct DenseLayer {
  std::string name;  // its variables are "<name>/kernel" [in, units] and "<name>/bias" [units]
  std::int64_t units = 0;
  Initializer initializer = Initializer::xavier_uniform;  // of the kernel; the bias starts at zero
  double stddev = 0;
};

// x [..., in] -> [..., units]; x may be a graph's sparse features.
NodeId add_dense(ModelBuilder& builder, NodeId x, const DenseLayer& layer);

}  // namespace trainyard::runtime

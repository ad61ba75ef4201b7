// The IDX format, plain and gzip: MNIST as published (https://yann.lecun.com/exdb/mnist).
#pragma once

#include <memory>

#include "runtime/data/dataset.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// spec.path is a folder with {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte,
// each with or without
// ".gz". Images of any size; as many classes as the largest label says. The images of a split are
// read when it is prepared. Those for training are augmented by `seed`.
Result<std::unique_ptr<Dataset>> open_idx(const DatasetSpec& spec, std::uint64_t seed,
                                          const DataCache& cache = DataCache());

}  // namespace trainyard::runtime

// LibSVM files: sparse examples of two classes, one a line (the format of LIBSVM and LIBLINEAR;
// Chang and Lin: "LIBSVM: a library for support vector machines", 2011).
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/data/dataset.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// spec.path has the training examples, spec.test_path those of the test; where that is "", a share
// of spec.test_fraction of spec.path's is drawn by `seed` for the test. Values are used as they
// are.
//
// The labels of spec.path are two numbers, such as -1 and +1 or 0 and 1: the smaller is class 0.
// There are spec.features features, or as many as the largest index of both files says. Memory goes
// with the values that are there, not with features times examples.
Result<std::unique_ptr<Dataset>> open_libsvm(const DatasetSpec& spec, std::uint64_t seed,
                                             const DataCache& cache = DataCache());

// Of such examples.
DataShape libsvm_shape(std::int64_t features);

}  // namespace trainyard::runtime

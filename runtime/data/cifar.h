// CIFAR-10 and CIFAR-100, the binary version as published
// (https://www.cs.toronto.edu/~kriz/cifar.html).
#pragma once

#include <memory>

#include "runtime/data/dataset.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// spec.path is a folder with data_batch_1.bin, data_batch_2.bin, ... and test_batch.bin (CIFAR-10:
// a label's byte, then 3,072 of an image, whole planes of red, green and blue), or with train.bin
// and test.bin (CIFAR-100: a coarse and a fine label's byte before the image). Images of [32, 32,
// 3]. To open it reads how long the files are; labels and images are read when their split is
// prepared: `invalid` of a label beyond the classes, with the file and the example's number in it.
Result<std::unique_ptr<Dataset>> open_cifar(const DatasetSpec& spec, std::uint64_t seed,
                                            const DataCache& cache = DataCache());

}  // namespace trainyard::runtime

// A training step once more on the mirror device, whose memory is its own and whose work is late:
// it has the bytes that the CPU has.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "runtime/model/row_batch.h"
#include "tests/conformance/mirror/host_device.h"

namespace trainyard::runtime {

// What a CPU's step was of, and what it gave.
struct StepOfCpu {
  const model::Written& written;
  const DataShape& shape;
  const Batch& batch;
  std::span<const float> weights;
  std::span<const float> gradients;
  const BatchResult& result;
  RowBatch* rows = nullptr;  // with their values and gradients
};

inline void check_on_device(const StepOfCpu& step) {
  INFO("on a device");
  HostDevice device({.bytes = std::size_t{2} << 30, .is_late = true});
  auto model = Model::build(step.written, step.shape,
                            {.batch_size = step.batch.examples, .device = &device});
  if (!model) FAIL(model.error().message);
  AlignedBuffer gradients(step.weights.size());
  std::vector<float> of_rows;
  if (step.rows != nullptr) of_rows = step.rows->gradients().rows;
  const BatchResult result =
      model->gradient(step.weights, step.batch, gradients.span(), {}, step.rows);
  CHECK(std::memcmp(&result.loss_sum, &step.result.loss_sum, sizeof result.loss_sum) == 0);
  CHECK(result.metrics == step.result.metrics);
  CHECK(std::memcmp(gradients.data(), step.gradients.data(), step.gradients.size_bytes()) == 0);
  if (step.rows != nullptr) CHECK(step.rows->gradients().rows == of_rows);
}

}  // namespace trainyard::runtime

// How fast a GPU makes products of matrices, in each precision: trainyard-runtime --measure-gpu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "runtime/graph/device.h"
#include "schemas/base/result.h"
#include "schemas/types/product_rates.h"

namespace trainyard::runtime {

// Of a product of two square matrices.
struct ProductTrial {
  std::int64_t side = 0;
  double seconds = 0;
  std::size_t free_bytes = 0;  // of the device, beside the matrices
};

// The side to try next; nothing: this product takes long enough to be measured, or a larger one has
// no room.
std::optional<std::int64_t> larger_side(const ProductTrial& trial);

// How many products in a row take long enough to be measured.
int products_in_a_row(double seconds_of_one);

// In TFLOP/s. Throws DeviceFailed where the device does not do what it is asked for.
double measure_product_rate(Device& device);

// The first GPU that this process sees. `unavailable` with a sentence that says what is missing.
Result<MeasuredGpu> measure_first_gpu(const std::filesystem::path& plugin);

}  // namespace trainyard::runtime

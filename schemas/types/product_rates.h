// How fast a GPU makes products of matrices, in each precision: measured once on each kind of GPU
// of a host, by its agent.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "schemas/types/precision.h"

namespace trainyard {

// In TFLOP/s. A precision that is not there is not known.
using ProductRates = std::map<Precision, double>;

inline constexpr double product_tflops_least = 1e-9;  // less than a double of a GPU makes
inline constexpr double product_tflops_max = 1e6;

// False also of what is no number.
constexpr bool is_product_rate(double tflops) {
  return tflops >= product_tflops_least && tflops <= product_tflops_max;
}

// "12 TFLOP/s in float32, 34 in tf32, 56 in bfloat16", with two digits of each; "": none is
// known.
std::string product_rate_words(const ProductRates& rates);

// What a task says of its GPUs, all of one kind, behind their names: "; its products make 12
// TFLOP/s in float32", of several "; the products of each make ...".
std::string products_make(std::int64_t gpus, const ProductRates& rates);

struct MeasuredGpu {
  std::string name;
  std::string build;  // of the program that measured
  ProductRates rates;
  bool operator==(const MeasuredGpu&) const = default;
};

// What an agent keeps of a measurement. It holds while all but the rates is as it was.
struct KeptProductRates {
  std::string gpu;  // its name
  std::string version;
  std::int64_t plugin_bytes = 0;
  std::int64_t plugin_changed = 0;  // the time in the file system's own unit
  ProductRates rates;
  bool operator==(const KeptProductRates&) const = default;
};

}  // namespace trainyard

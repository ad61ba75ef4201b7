#include "runtime/math/ops/cpu/fma_peak.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>

#include "runtime/math/aligned_buffer.h"

namespace trainyard::runtime {

// No more than this is sure on a machine that does other work too: the figure is one of a
// processor, and a product in the same run does not pass it by much.
TEST_CASE("a product reaches a part of the measured peak, and not more", "[math]") {
  for (const GemmKernel kernel : {GemmKernel::avx2, GemmKernel::avx512}) {
    if (!is_available(kernel)) continue;
    constexpr std::int64_t side = 240;
    AlignedBuffer left(side * side), right(side * side), out(side * side);
    const Product product{.rows = side,
                          .columns = side,
                          .depth = side,
                          .left = {left.data(), side, 1},
                          .right = {right.data(), side, 1},
                          .out = out.data()};
    const double peak = measure_fma_peak(kernel);
    double best = 0;
    for (int run = 0; run < 40; ++run) {
      const auto start = std::chrono::steady_clock::now();
      gemm(product, kernel);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      best = std::max(best, 2.0 * side * side * side / took.count());
    }
    INFO("peak " << peak * 1e-9 << ", product " << best * 1e-9 << " GFLOP/s");
    CHECK(peak > 4e9);
    CHECK(best < 1.5 * peak);
    CHECK(best > 0.02 * peak);
  }
}

}  // namespace trainyard::runtime

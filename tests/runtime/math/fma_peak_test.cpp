#include "runtime/math/ops/cpu/fma_peak.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace trainyard::runtime {

// How high it is, the benchmarks compare: no test judges by time.
TEST_CASE("the peak of every kind of kernel that this processor has is measured", "[math]") {
  for (const GemmKernel kernel : {GemmKernel::avx2, GemmKernel::avx512}) {
    if (!is_available(kernel)) continue;
    CHECK(run_fma_chains(kernel) > 0);  // operations
    const double peak = measure_fma_peak(kernel);
    CHECK(std::isfinite(peak));
    CHECK(peak > 0);
  }
}

}  // namespace trainyard::runtime

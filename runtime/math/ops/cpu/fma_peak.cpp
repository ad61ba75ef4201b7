#include "runtime/math/ops/cpu/fma_peak.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>

#include "runtime/math/avx512.h"

namespace trainyard::runtime {
namespace {

// Two units with a latency of 4 or 5 need ten chains at once to be busy.
constexpr int chains = 12;
constexpr int steps = 20'000;
constexpr int runs = 60;

double operations_of(int lanes) { return 2.0 * lanes * chains * steps; }

// The sums go to where somebody could read them, or they would not be computed.
[[gnu::no_sanitize("address")]] double run_avx2(volatile float& reader) {
  __m256 sum[chains];
  for (__m256& one : sum) one = _mm256_set1_ps(reader);
  const __m256 factor = _mm256_set1_ps(0.999F);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sum[i] = _mm256_fmadd_ps(sum[i], factor, factor);
  }
  for (const __m256 one : sum) reader = one[0];
  return operations_of(8);
}

[[TRAINYARD_AVX512, gnu::no_sanitize("address")]] double run_avx512(volatile float& reader) {
  __m512 sum[chains];
  for (__m512& one : sum) one = _mm512_set1_ps(reader);
  const __m512 factor = _mm512_set1_ps(0.999F);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sum[i] = _mm512_fmadd_ps(sum[i], factor, factor);
  }
  for (const __m512 one : sum) reader = one[0];
  return operations_of(16);
}

}  // namespace

double run_fma_chains(GemmKernel kernel) {
  volatile float reader = 1;
  return kernel == GemmKernel::avx512 ? run_avx512(reader) : run_avx2(reader);
}

double measure_fma_peak(GemmKernel kernel) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    const Clock::time_point start = Clock::now();
    const double operations = run_fma_chains(kernel);
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    if (took > 0) best = std::max(best, operations / took);
  }
  return best;
}

}  // namespace trainyard::runtime

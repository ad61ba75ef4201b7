// Plain loops of integers, without a branch: the compiler makes vectors of them.
#include "runtime/math/wire/bfloat16.h"

#include <cstddef>

#include "schemas/base/check.h"

namespace trainyard::runtime {

void encode_bfloat16(std::span<const float> from, std::span<std::uint16_t> to) {
  ENSURE(from.size() == to.size());
  const float* const in = from.data();
  std::uint16_t* const out = to.data();
#pragma GCC ivdep
  for (std::size_t i = 0; i < from.size(); ++i) out[i] = to_bfloat16(in[i]);
}

void decode_bfloat16(std::span<const std::uint16_t> from, std::span<float> to) {
  ENSURE(from.size() == to.size());
  const std::uint16_t* const in = from.data();
  float* const out = to.data();
#pragma GCC ivdep
  for (std::size_t i = 0; i < from.size(); ++i) out[i] = from_bfloat16(in[i]);
}

}  // namespace trainyard::runtime

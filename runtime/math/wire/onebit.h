// Gradients of one bit an element, with error feedback: of a block of elements travel the signs and
// two numbers, the mean of the values that are 0 or more and the mean of those below 0, which stand
// for the values. What that loses is kept in a residual and added to the next gradient, so that
// nothing is lost in the long run.
// (Seide, Fu, Droppo, Li and Yu, 1-Bit Stochastic Gradient Descent and its Application to
// Data-Parallel Distributed Training of Speech DNNs, Interspeech 2014; Karimireddy, Rebjock, Stich
// and Jaggi, Error Feedback Fixes SignSGD and other Gradient Compression Schemes, ICML 2019.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trainyard::runtime {

// Elements of a block: small enough that one layer's numbers seldom stand for another's.
inline constexpr std::size_t onebit_block = 1024;

struct OneBitMeans {
  float positive = 0;  // of the values of 0 or more; 0 where there are none
  float negative = 0;  // of those below 0; 0 where there are none
  bool operator==(const OneBitMeans&) const = default;
};

constexpr std::size_t onebit_sign_bytes(std::size_t elements) { return (elements + 7) / 8; }

// One block: at most onebit_block elements. The values are residual * residual_scale + gradient;
// bit i % 8 of signs[i / 8] is set where value i is below 0, and the residual becomes the value
// less what it is decoded to. `padding`: how many of the values are certain to be zeros that stand
// for nothing, and count in no mean. signs has onebit_sign_bytes(gradient.size()).
OneBitMeans encode_onebit(std::span<const float> gradient, float residual_scale,
                          std::span<float> residual, std::span<std::uint8_t> signs,
                          std::size_t padding = 0);

// The out.size() values that the first bits of `signs` stand for.
void decode_onebit(std::span<const std::uint8_t> signs, const OneBitMeans& means,
                   std::span<float> out);

}  // namespace trainyard::runtime

// Words are drawn for some hundred elements at a time: loops over blocks are vectors.
#include "runtime/math/ops/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/core/counter_rng.h"
#include "runtime/math/elements/dropout.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::uint64_t blocks_at_once = 64;
using Words = std::array<std::array<std::uint32_t, blocks_at_once>, 4>;

void draw_words(const DropoutDraw& draw, std::uint64_t first_block, Words& words) {
#pragma GCC ivdep
  for (std::uint64_t i = 0; i < blocks_at_once; ++i) {
    const auto of = dropout_words(draw, first_block + i);
    words[0][i] = of[0];
    words[1][i] = of[1];
    words[2][i] = of[2];
    words[3][i] = of[3];
  }
}

// A word of rate * 2^32 or more: so is every whole number from the next one on.
std::uint64_t threshold_of(double rate) {
  return static_cast<std::uint64_t>(std::ceil(rate * 0x1p32));
}

template <Write write>
void drop(const Dropout& dropout, ConstTensor from, Tensor to) {
  ENSURE(from.shape == to.shape && dropout.rate >= 0 && dropout.rate < 1);
  const auto elements = static_cast<std::uint64_t>(from.elements());
  if (elements == 0) return;
  const std::uint64_t each = elements / static_cast<std::uint64_t>(from.shape[0]);
  const DropoutDraw draw{.stream = static_cast<std::uint32_t>(RngStream::dropout),
                         .layer = dropout.layer,
                         .seed_low = static_cast<std::uint32_t>(dropout.seed),
                         .seed_high = static_cast<std::uint32_t>(dropout.seed >> 32)};
  const std::uint64_t threshold = threshold_of(dropout.rate);
  const auto factor = static_cast<float>(1.0 / (1.0 - dropout.rate));
  const std::uint64_t first = dropout.first_position * each;  // of the endless line of elements
  Words words;                                                // NOLINT: drawn before they are read
  std::array<float, 4 * blocks_at_once> factors{};
  for (std::uint64_t at = 0; at < elements;) {
    const std::uint64_t number = first + at;
    draw_words(draw, number / 4, words);
    for (std::uint64_t i = 0; i < blocks_at_once; ++i) {
      for (std::uint64_t word = 0; word < 4; ++word) {
        factors[4 * i + word] = words[word][i] >= threshold ? factor : 0.0F;
      }
    }
    const std::uint64_t skipped = number % 4;  // a batch may begin within a block
    const std::uint64_t count = std::min(elements - at, 4 * blocks_at_once - skipped);
#pragma GCC ivdep
    for (std::uint64_t i = 0; i < count; ++i) {
      const float value = factors[skipped + i] * from.data[at + i];
      to.data[at + i] = write == Write::add ? to.data[at + i] + value : value;
    }
    at += count;
  }
}

}  // namespace

void drop_out(const Dropout& dropout, ConstTensor x, Tensor y) {
  drop<Write::overwrite>(dropout, x, y);
}

void drop_out_gradient(const Dropout& dropout, ConstTensor y_gradient, Tensor x_gradient,
                       Write write) {
  if (write == Write::add) return drop<Write::add>(dropout, y_gradient, x_gradient);
  drop<Write::overwrite>(dropout, y_gradient, x_gradient);
}

}  // namespace trainyard::runtime

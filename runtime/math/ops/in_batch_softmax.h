// Two towers: the vectors of users and of items of the same examples. Each user's right item is
// that of its own example, all others of the batch are wrong ones. One thread; the products are
// those of matmul.h, so the bits depend on shapes and values alone.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Both [examples, features].
struct Towers {
  ConstTensor users;
  ConstTensor items;
  // [examples]: how often each item is in a batch, as a logarithm. A popular item is a wrong one
  // more often than others are: what is subtracted from its scores makes up for that (Yi et al.,
  // "Sampling-bias-corrected neural modeling for large corpus item recommendations", 2019).
  std::optional<ConstTensor> log_frequency{};
};

// Memory that each of the functions asks for, of so many examples.
std::size_t in_batch_scratch_bytes(std::int64_t examples);

// losses [examples] = -log softmax(users * items^T / temperature - log_frequency) at the example's
// own item. probabilities [examples, examples] receives the softmax, which the gradient needs.
// `scratch` begins at a cache line's border.
void in_batch_softmax(const Towers& towers, float temperature, Tensor losses, Tensor probabilities,
                      std::span<std::byte> scratch);

struct TowerGradient {
  Tensor into;  // no data: nobody wants it
  Write write = Write::overwrite;
};
struct TowersGradient {
  TowerGradient users;
  TowerGradient items;
  TowerGradient log_frequency{};
};
void in_batch_softmax_gradient(const Towers& towers, float temperature, ConstTensor probabilities,
                               ConstTensor losses_gradient, const TowersGradient& gradient,
                               std::span<std::byte> scratch);

// matches [examples] = 1 where fewer than k items of the batch have a larger product with the
// example's user than its own, or an equal one and come before it; NaN matches nothing. How
// frequent an item is does not matter here.
void match_in_batch(std::int64_t k, const Towers& towers, Tensor matches,
                    std::span<std::byte> scratch);

}  // namespace trainyard::runtime

// Scaled dot-product attention (Vaswani and others 2017): for each head, y = softmax(q k^T /
// sqrt(features of a head)) v, of keys that are there and that the query may see.
//
// The bits are a function of an example's values alone. A score is one product over the features of
// a head; a row's exponentials are summed in sixteen lanes, as sum(), over all keys that it sees; y
// and the gradient of q are products over the keys in the blocks of depth_block_of(all keys); the
// gradients of k and v are sums over blocks of 64 queries, one after another.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/ops/dropout.h"
#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

struct Attention {
  std::int64_t heads = 1;  // divides the features; head h has those from h * features / heads on
  bool is_causal =
      false;  // a query sees the keys up to its own place; there is a key for each then
  // Of probabilities; a rate of 0: none. Its elements are [heads, queries, keys] of an example:
  // of the sizes below where q and k have but the first ones of each, whatever its stride.
  Dropout dropout{};
  std::int64_t line_queries = 0;  // 0: as many as q has
  std::int64_t line_keys = 0;     // 0: as many as k has
};

// Three values of examples; one memory may be several of them.
struct AttentionInputs {
  ConstTensor q;  // [examples, queries, features]
  ConstTensor k;  // [examples, keys, features]
  ConstTensor v;  // as k
  // By example: the keys that are there. Empty: all of them. A query that sees none gets 0.
  std::span<const std::int32_t> lengths{};
};

struct AttentionForward {
  AttentionInputs in;
  Tensor y;         // as q; overlaps nothing
  Tensor log_sums;  // [examples, heads, queries], for the backward pass: logarithms of the sums
  std::span<float> scratch;  // what one thread needs, for each of them
  Threads threads = {};      // share the heads of the examples
};

// Gradients without data are not asked for. The places of several may be one: what is overwritten
// is the first of them.
struct AttentionGradient {
  AttentionInputs in;
  ConstTensor y;
  ConstTensor log_sums;
  ConstTensor y_gradient;
  Tensor q_gradient;
  Write q_write = Write::overwrite;
  Tensor k_gradient;
  Write k_write = Write::overwrite;
  Tensor v_gradient;
  Write v_write = Write::overwrite;
  std::span<float> scratch;  // what one thread needs, for each of them
  Threads threads = {};      // share the heads of the examples
};

// Elements that a thread needs.
std::int64_t attend_scratch(std::int64_t keys);
std::int64_t attend_gradient_scratch(std::int64_t keys);

void attend(const Attention& attention, const AttentionForward& call);
void attend_gradient(const Attention& attention, const AttentionGradient& call);

}  // namespace trainyard::runtime

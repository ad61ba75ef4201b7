// Attention with products by the instructions of one's choice (the bits are the same), and what its
// two passes share: the queries of a block and the keys that they see.
#pragma once

#include <cmath>

#include "runtime/math/ops/attention.h"
#include "runtime/math/ops/cpu/gemm.h"

namespace trainyard::runtime {

void attend(const Attention& attention, const AttentionForward& call, GemmKernel kernel);
void attend_gradient(const Attention& attention, const AttentionGradient& call, GemmKernel kernel);

inline constexpr std::int64_t queries_of_a_block = 64;  // their scores stay in the second cache

// One head of an example, some of its queries.
struct QueryBlock {
  std::int64_t example = 0;
  std::int64_t head = 0;
  std::int64_t first = 0;    // query
  std::int64_t queries = 0;  // of the block
  std::int64_t keys = 0;     // that its last query sees
  bool is_causal = false;

  // How many keys a query of the block sees.
  [[nodiscard]] std::int64_t keys_of(std::int64_t row) const;
};

// The sizes of a call, checked.
class AttentionSizes {
 public:
  AttentionSizes(const Attention& attention, const AttentionInputs& in);

  std::int64_t examples;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t features;
  std::int64_t heads;
  std::int64_t depth;  // features of a head

  // The first of a head's features at a place of the queries, or of the keys.
  [[nodiscard]] std::int64_t query_at(const QueryBlock& block) const {
    return (block.example * queries + block.first) * features + block.head * depth;
  }
  [[nodiscard]] std::int64_t key_at(const QueryBlock& block) const {
    return block.example * keys * features + block.head * depth;
  }
  // Where the numbers of the block's queries lie in [examples, heads, queries].
  [[nodiscard]] std::int64_t row_at(const QueryBlock& block) const {
    return (block.example * heads + block.head) * queries + block.first;
  }
  // The number of the element [head, query, key 0] in the endless line of probabilities.
  [[nodiscard]] std::uint64_t probability_at(const Attention& attention, const QueryBlock& block,
                                             std::int64_t row) const;
  // Rows of the features of one head.
  [[nodiscard]] Operand rows_from(const float* data) const {
    return {.data = data, .row_stride = features, .column_stride = 1};
  }
  [[nodiscard]] Operand columns_from(const float* data) const {
    return {.data = data, .row_stride = 1, .column_stride = features};
  }
  // The scores [queries, keys] of the block, not scaled yet, or any other product of q's rows with
  // k's.
  void multiply_by_keys(const QueryBlock& block, const float* rows, const float* keys_of_head,
                        float* out, GemmKernel kernel) const;
  // out [queries, depth] = or += weights [queries, keys of the block] values.
  void multiply_by_weights(const QueryBlock& block, const float* weights, const float* values,
                           float* out, Write write, GemmKernel kernel) const;

  // All heads of all examples; each takes so many products of its queries with its keys.
  [[nodiscard]] Items heads_of_examples(int products) const {
    constexpr double softmax_nanoseconds = 0.6;  // of a score
    const auto scores = static_cast<double>(queries * keys);
    const double each = products * gemm_nanoseconds(scores * static_cast<double>(depth)) +
                        scores * softmax_nanoseconds;
    return {.count = examples * heads, .nanoseconds_each = each};
  }

  // Calls visit(block) for some of these: examples, their heads, blocks of queries, in this order.
  template <class Visit>
  void for_each_block(const Attention& attention, const AttentionInputs& in, const Part& part,
                      Visit visit) const {
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      for (std::int64_t first = 0; first < queries; first += queries_of_a_block) {
        visit(block_of(attention, in, i, first));
      }
    }
  }

 private:
  [[nodiscard]] QueryBlock block_of(const Attention& attention, const AttentionInputs& in,
                                    std::int64_t example_and_head, std::int64_t first) const;
};

inline float score_scale(std::int64_t depth) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(depth)));
}

}  // namespace trainyard::runtime

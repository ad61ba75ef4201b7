#include "runtime/math/ops/cpu/attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/core/portable_math.h"
#include "runtime/math/avx512.h"
#include "runtime/math/ops/cpu/exp_shifted.h"
#include "runtime/math/ops/cpu/fold.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

std::int64_t QueryBlock::keys_of(std::int64_t row) const {
  return is_causal ? std::min(keys, first + row + 1) : keys;
}

AttentionSizes::AttentionSizes(const Attention& attention, const AttentionInputs& in)
    : examples(in.q.shape[0]),
      queries(in.q.shape[1]),
      keys(in.k.shape[1]),
      features(in.q.shape.columns()),
      heads(attention.heads),
      depth(features / heads) {
  ENSURE(in.q.shape.rank() == 3 && in.k.shape.rank() == 3 && in.k.shape == in.v.shape);
  ENSURE(in.k.shape[0] == examples && in.k.shape.columns() == features);
  ENSURE(heads >= 1 && features % heads == 0);
  ENSURE(!attention.is_causal || queries == keys);
  ENSURE(in.lengths.empty() || std::ssize(in.lengths) == examples);
}

QueryBlock AttentionSizes::block_of(const Attention& attention, const AttentionInputs& in,
                                    std::int64_t example_and_head, std::int64_t first) const {
  QueryBlock block{.example = example_and_head / heads,
                   .head = example_and_head % heads,
                   .first = first,
                   .queries = std::min(queries_of_a_block, queries - first),
                   .keys = keys,
                   .is_causal = attention.is_causal};
  if (!in.lengths.empty()) {
    const std::int64_t length = in.lengths[static_cast<std::size_t>(block.example)];
    ENSURE(length >= 0);
    block.keys = std::min(block.keys, length);
  }
  if (block.is_causal) block.keys = std::min(block.keys, first + block.queries);
  return block;
}

std::uint64_t AttentionSizes::probability_at(const Attention& attention, const QueryBlock& block,
                                             std::int64_t row) const {
  const std::int64_t rows = attention.line_queries == 0 ? queries : attention.line_queries;
  const std::int64_t columns = attention.line_keys == 0 ? keys : attention.line_keys;
  ENSURE(rows >= queries && columns >= keys);
  const std::uint64_t position =
      attention.dropout.first_position + static_cast<std::uint64_t>(block.example);
  const std::int64_t of_example = (block.head * rows + block.first + row) * columns;
  return position * static_cast<std::uint64_t>(heads * rows * columns) +
         static_cast<std::uint64_t>(of_example);
}

void AttentionSizes::multiply_by_keys(const QueryBlock& block, const float* rows,
                                      const float* keys_of_head, float* out,
                                      GemmKernel kernel) const {
  gemm({.rows = block.queries,
        .columns = block.keys,
        .depth = depth,
        .left = rows_from(rows),
        .right = columns_from(keys_of_head),
        .out = out},
       kernel);
}

// In the blocks of a product over all keys: those that nobody sees are not multiplied.
void AttentionSizes::multiply_by_weights(const QueryBlock& block, const float* weights,
                                         const float* values, float* out, Write write,
                                         GemmKernel kernel) const {
  const std::int64_t each = depth_block_of(keys);
  for (std::int64_t at = 0; at < block.keys; at += each) {
    gemm({.rows = block.queries,
          .columns = depth,
          .depth = std::min(each, block.keys - at),
          .left = {.data = weights + at, .row_stride = block.keys, .column_stride = 1},
          .right = rows_from(values + at * features),
          .out = out,
          .write = at == 0 ? write : Write::add,
          .out_stride = features},
         kernel);
  }
}

namespace {

class Attending {
 public:
  Attending(const Attention& attention, const AttentionForward& call, GemmKernel kernel)
      : attention_(attention), call_(call), kernel_(kernel), sizes_(attention, call.in) {
    ENSURE(call.y.shape == call.in.q.shape);
    ENSURE(call.log_sums.elements() == sizes_.examples * sizes_.heads * sizes_.queries);
    ENSURE(std::ssize(call.scratch) >= call.threads.count() * attend_scratch(sizes_.keys));
  }

  void run() {
    call_.threads.split(sizes_.heads_of_examples(2), [this](const Part& part) {
      Attending mine = *this;
      mine.scratch_ = call_.scratch.data() + part.member * attend_scratch(sizes_.keys);
      sizes_.for_each_block(attention_, call_.in, part,
                            [&mine](const QueryBlock& block) { mine.attend_block(block); });
    });
  }

 private:
  [[nodiscard]] float* scores() const { return scratch_; }

  void attend_block(const QueryBlock& block) {
    float* const y = call_.y.data + sizes_.query_at(block);
    float* const log_sums = call_.log_sums.data + sizes_.row_at(block);
    if (block.keys == 0) {
      for (std::int64_t row = 0; row < block.queries; ++row) {
        std::fill_n(y + row * sizes_.features, sizes_.depth, 0.0F);
      }
      std::fill_n(log_sums, block.queries, 0.0F);
      return;
    }
    sizes_.multiply_by_keys(block, call_.in.q.data + sizes_.query_at(block),
                            call_.in.k.data + sizes_.key_at(block), scores(), kernel_);
    std::array<RowSum, queries_of_a_block> sums;  // NOLINT: written before they are read
    for (std::int64_t row = 0; row < block.queries; ++row) {
      sums[static_cast<std::size_t>(row)] = to_weights(block, row);
    }
    // The logarithms have a loop of their own: the processor computes several at once.
    for (std::int64_t row = 0; row < block.queries; ++row) {
      const RowSum& of = sums[static_cast<std::size_t>(row)];
      log_sums[row] = static_cast<float>(static_cast<double>(of.largest) +
                                         portable_log(static_cast<double>(of.sum)));
    }
    sizes_.multiply_by_weights(block, scores(), call_.in.v.data + sizes_.key_at(block), y,
                               Write::overwrite, kernel_);
    for (std::int64_t row = 0; row < block.queries; ++row) {
      float* const to = y + row * sizes_.features;
      const float inverse = 1.0F / sums[static_cast<std::size_t>(row)].sum;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < sizes_.depth; ++i) to[i] *= inverse;
    }
  }

  struct RowSum {
    float largest;  // score
    float sum;      // of exponentials of the distances from it
  };

  // A row of scores becomes exponentials, 0 where the query does not see the key; what they are
  // before some are dropped.
  RowSum to_weights(const QueryBlock& block, std::int64_t row) {
    float* const weights = scores() + row * block.keys;
    const std::int64_t seen = block.keys_of(row);
    const float scale = score_scale(sizes_.depth);
    RowSum of;  // NOLINT: written before it is read
    by_vectors([=, &of] {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < seen; ++i) weights[i] *= scale;
      of.largest = fold_maximum(weights, seen);
      exp_shifted(weights, of.largest, weights, seen);
      of.sum = fold_sum(seen, [=](std::int64_t i) { return weights[i]; });
    });
    std::fill(weights + seen, weights + block.keys, 0.0F);
    if (attention_.dropout.rate > 0) drop(block, row, {weights, static_cast<std::size_t>(seen)});
    return of;
  }

  void drop(const QueryBlock& block, std::int64_t row, std::span<float> weights) {
    const std::span factors(scratch_ + queries_of_a_block * sizes_.keys, weights.size());
    dropout_factors(attention_.dropout, sizes_.probability_at(attention_, block, row), factors);
#pragma GCC ivdep
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= factors[i];
  }

  const Attention& attention_;
  const AttentionForward& call_;
  GemmKernel kernel_;
  AttentionSizes sizes_;
  float* scratch_ = nullptr;
};

}  // namespace

// The scores of a block, and the factors of a row.
std::int64_t attend_scratch(std::int64_t keys) { return (queries_of_a_block + 1) * keys; }

void attend(const Attention& attention, const AttentionForward& call, GemmKernel kernel) {
  Attending(attention, call, kernel).run();
}

void attend(const Attention& attention, const AttentionForward& call) {
  attend(attention, call, best_kernel());
}

}  // namespace trainyard::runtime

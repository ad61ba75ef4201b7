// Probabilities are computed again from the scores: exp(score - logarithm of the sum). With P the
// probabilities, F the factors of dropout and D = sum of y y_gradient over a query's features:
//   v_gradient = (F P)^T y_gradient
//   S = P (F (y_gradient v^T) - D) / sqrt(features of a head)
//   q_gradient = S k,  k_gradient = S^T q
#include <algorithm>

#include "runtime/math/avx512.h"
#include "runtime/math/ops/cpu/attention.h"
#include "runtime/math/ops/cpu/exp_shifted.h"
#include "runtime/math/ops/cpu/fold.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

class AttendingBack {
 public:
  AttendingBack(const Attention& attention, const AttentionGradient& call, GemmKernel kernel)
      : attention_(attention), call_(call), kernel_(kernel), sizes_(attention, call.in) {
    ENSURE(call.y.shape == call.in.q.shape && call.y_gradient.shape == call.y.shape);
    ENSURE(call.log_sums.elements() == sizes_.examples * sizes_.heads * sizes_.queries);
    ENSURE(std::ssize(call.scratch) >= call.threads.count() * attend_gradient_scratch(sizes_.keys));
  }

  void run() {
    // All that follows adds: what was one place stays the sum of what is given to it.
    clear(call_.q_gradient, call_.q_write);
    clear(call_.k_gradient, call_.k_write);
    clear(call_.v_gradient, call_.v_write);
    call_.threads.split(sizes_.heads_of_examples(5), [this](const Part& part) {
      AttendingBack mine = *this;
      mine.scratch_ = call_.scratch.data() + part.member * attend_gradient_scratch(sizes_.keys);
      sizes_.for_each_block(attention_, call_.in, part, [&mine](const QueryBlock& block) {
        if (block.keys > 0) mine.give_back(block);
      });
    });
  }

 private:
  static void clear(const Tensor& gradient, Write write) {
    if (gradient.data == nullptr || write == Write::add) return;
    std::ranges::fill(gradient.span(), 0.0F);
  }

  [[nodiscard]] bool asks_for_scores() const {
    return call_.q_gradient.data != nullptr || call_.k_gradient.data != nullptr;
  }
  [[nodiscard]] float* probabilities() const { return scratch_; }
  // Of the scores, once they are made of those of the probabilities.
  [[nodiscard]] float* gradients() const { return scratch_ + queries_of_a_block * sizes_.keys; }
  [[nodiscard]] float* factors() const { return scratch_ + 2 * queries_of_a_block * sizes_.keys; }

  void give_back(const QueryBlock& block) {
    const float* const q = call_.in.q.data + sizes_.query_at(block);
    const float* const k = call_.in.k.data + sizes_.key_at(block);
    const float* const upstream = call_.y_gradient.data + sizes_.query_at(block);
    sizes_.multiply_by_keys(block, q, k, probabilities(), kernel_);
    if (asks_for_scores()) {
      sizes_.multiply_by_keys(block, upstream, call_.in.v.data + sizes_.key_at(block), gradients(),
                              kernel_);
    }
    for (std::int64_t row = 0; row < block.queries; ++row) go_back_through_softmax(block, row);
    if (call_.v_gradient.data != nullptr) {
      add_to_keys(block, probabilities(), upstream, call_.v_gradient);
    }
    if (call_.q_gradient.data != nullptr) {
      sizes_.multiply_by_weights(block, gradients(), k,
                                 call_.q_gradient.data + sizes_.query_at(block), Write::add,
                                 kernel_);
    }
    if (call_.k_gradient.data != nullptr) add_to_keys(block, gradients(), q, call_.k_gradient);
  }

  // Of the block's row: scores become what v's gradient is made of, and the gradients of
  // probabilities those of scores.
  void go_back_through_softmax(const QueryBlock& block, std::int64_t row) {
    float* const weights = probabilities() + row * block.keys;
    float* const gradient = gradients() + row * block.keys;
    const std::int64_t seen = block.keys_of(row);
    const float scale = score_scale(sizes_.depth);
    const float log_sum = call_.log_sums.data[sizes_.row_at(block) + row];
    by_vectors([=] {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < seen; ++i) weights[i] *= scale;
      exp_shifted(weights, log_sum, weights, seen);
    });
    std::fill(weights + seen, weights + block.keys, 0.0F);
    const bool drops = attention_.dropout.rate > 0;
    if (drops) draw_factors(block, row, seen);
    if (asks_for_scores()) {
      const float* const y = call_.y.data + sizes_.query_at(block) + row * sizes_.features;
      const float* const upstream =
          call_.y_gradient.data + sizes_.query_at(block) + row * sizes_.features;
      if (drops) multiply(factors(), gradient, seen);
      by_vectors([=, depth = sizes_.depth] {
        const float along = fold_sum(depth, [=](std::int64_t i) { return y[i] * upstream[i]; });
#pragma GCC ivdep
        for (std::int64_t i = 0; i < seen; ++i) {
          gradient[i] = weights[i] * (gradient[i] - along) * scale;
        }
      });
      std::fill(gradient + seen, gradient + block.keys, 0.0F);
    }
    if (drops) multiply(factors(), weights, seen);
  }

  void draw_factors(const QueryBlock& block, std::int64_t row, std::int64_t count) {
    dropout_factors(attention_.dropout, sizes_.probability_at(attention_, block, row),
                    {factors(), static_cast<std::size_t>(count)});
  }

  static void multiply(const float* by, float* values, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) values[i] *= by[i];
  }

  // into [keys, depth] += weights [queries, keys]^T rows [queries, depth]
  void add_to_keys(const QueryBlock& block, const float* weights, const float* rows,
                   const Tensor& into) {
    gemm({.rows = block.keys,
          .columns = sizes_.depth,
          .depth = block.queries,
          .left = {.data = weights, .row_stride = 1, .column_stride = block.keys},
          .right = sizes_.rows_from(rows),
          .out = into.data + sizes_.key_at(block),
          .write = Write::add,
          .out_stride = sizes_.features},
         kernel_);
  }

  const Attention& attention_;
  const AttentionGradient& call_;
  GemmKernel kernel_;
  AttentionSizes sizes_;
  float* scratch_ = nullptr;
};

}  // namespace

// Probabilities and gradients of a block, and the factors of a row.
std::int64_t attend_gradient_scratch(std::int64_t keys) {
  return (2 * queries_of_a_block + 1) * keys;
}

void attend_gradient(const Attention& attention, const AttentionGradient& call, GemmKernel kernel) {
  AttendingBack(attention, call, kernel).run();
}

void attend_gradient(const Attention& attention, const AttentionGradient& call) {
  attend_gradient(attention, call, best_kernel());
}

}  // namespace trainyard::runtime

// Attention on a grid: the scores of as many examples and heads at once as there is room for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "runtime/graph/grid/attention_products.h"
#include "runtime/graph/grid/attention_rows.h"
#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

// A group of pairs of a call.
struct AttentionGroup {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class SdpaOnGrid {
 public:
  SdpaOnGrid(const SdpaOp& op, const Shape& q, const Shape& k)
      : queries(q[1]),
        keys(k[1]),
        features(q.columns()),
        heads(op.heads),
        depth(features / op.heads),
        pairs(q[0] * op.heads),
        is_causal_(op.is_causal) {}

  // Elements of scratch for a pair: its scores, and their sums' inverses; or, on the way back,
  // scores and gradients.
  [[nodiscard]] std::int64_t forward_scratch() const { return queries * (keys + 1); }
  [[nodiscard]] std::int64_t backward_scratch() const { return 2 * queries * keys; }

  void read_feed(const SdpaOp& op, const Feed& feed, Pass pass) {
    lengths_ = op.has_lengths && !feed.lengths.empty() ? feed.lengths.data() : nullptr;
    if (op.dropout == 0 || pass == Pass::evaluate) return;
    dropped_ = {.drawing = feed.drawing,
                .layer = op.layer,
                .threshold = dropout_threshold(op.dropout),
                .factor = dropout_factor(op.dropout),
                .queries = op.line_queries == 0 ? queries : op.line_queries,
                .keys = op.line_keys == 0 ? keys : op.line_keys};
  }

  // visit(group) for all pairs, as many at once as there is room for.
  template <class Visit>
  void for_each_group(const Tensor& scratch, std::int64_t scratch_each, const Visit& visit) const {
    const std::int64_t room = scratch.elements() / std::max<std::int64_t>(1, scratch_each);
    const std::int64_t most = std::max<std::int64_t>(1, room);
    for (std::int64_t first = 0; first < pairs; first += most) {
      visit(AttentionGroup{first, std::min(most, pairs - first)});
    }
  }

  [[nodiscard]] AttentionRows rows(const AttentionGroup& group) const {
    return {.seen = seen(group),
            .dropped = dropped_,
            .queries = places(group, queries),
            .scale = score_scale(depth),
            .pairs = group.count};
  }

  // out [pairs, queries, keys]: of q's rows with k's, or of others of their shapes.
  template <class Grid>
  void multiply_by_keys(Grid& grid, const AttentionGroup& group, const float* by_query,
                        const float* by_key, float* out) const {
    ScoreProduct product{{.rows = queries,
                          .columns = keys,
                          .cuts = cuts_of(depth),
                          .left = rows_of(by_query, group, queries),
                          .right = rows_of(by_key, group, keys),
                          .out = out,
                          .out_stride = keys,
                          .products = group.count,
                          .out_apart = queries * keys},
                         seen(group)};
    multiply_heads(grid, product);
  }

  // Of queries [first, first + count): out, as q, from weights [pairs, queries, keys].
  template <class Grid>
  void sum_over_keys(Grid& grid, const AttentionGroup& group, const Part& some,
                     const float* weights, const float* by_key, float* out, Write write) const {
    ProductOverKeys product{{.rows = some.count(),
                             .columns = depth,
                             .cuts = cuts_of(keys),
                             .left = {.data = weights + some.begin * keys,
                                      .outer = keys,
                                      .along = 1,
                                      .apart = queries * keys},
                             .right = columns_of(by_key, group, keys),
                             .out = out + some.begin * features,
                             .out_stride = features,
                             .write = write,
                             .products = group.count},
                            seen(group),
                            places(group, queries),
                            some.begin};
    multiply_heads(grid, product);
  }

  // out, as k, becomes so much more.
  template <class Grid>
  void sum_over_queries(Grid& grid, const AttentionGroup& group, const Part& some,
                        const float* weights, const float* by_query, float* out) const {
    ProductOverQueries product{
        {.rows = keys,
         .columns = depth,
         .cuts = {.depth = some.count(), .each = queries_of_a_block},
         .left = {.data = weights + some.begin * keys,
                  .outer = 1,
                  .along = keys,
                  .apart = queries * keys},
         .right = columns_of(by_query + some.begin * features, group, queries),
         .out = out,
         .out_stride = features,
         .write = Write::add,
         .products = group.count},
        seen(group),
        places(group, keys),
        some.begin};
    multiply_heads(grid, product);
  }

  const std::int64_t queries;
  const std::int64_t keys;
  const std::int64_t features;
  const std::int64_t heads;
  const std::int64_t depth;  // features of a head
  const std::int64_t pairs;

 private:
  [[nodiscard]] HeadPairs pairs_of(const AttentionGroup& group) const {
    return {group.first, heads};
  }
  [[nodiscard]] HeadPlaces places(const AttentionGroup& group, std::int64_t time) const {
    return {pairs_of(group), depth, features, time};
  }
  [[nodiscard]] SeenKeys seen(const AttentionGroup& group) const {
    return {pairs_of(group), queries, keys, is_causal_, lengths_};
  }
  // Of which the depth is the features, or the time.
  [[nodiscard]] HeadSide rows_of(const float* data, const AttentionGroup& group,
                                 std::int64_t time) const {
    return {.data = data, .places = places(group, time), .outer = features, .along = 1};
  }
  [[nodiscard]] HeadSide columns_of(const float* data, const AttentionGroup& group,
                                    std::int64_t time) const {
    return {.data = data, .places = places(group, time), .outer = 1, .along = features};
  }

  bool is_causal_;
  const std::int32_t* lengths_ = nullptr;
  DroppedProbabilities dropped_;
};

template <class Grid>
void attend_on(Grid& grid, const SdpaOnGrid& of, const ForwardCall& call) {
  const float* const q = call.inputs[0].data;
  const float* const k = call.inputs[1].data;
  const float* const v = call.inputs[2].data;
  float* const y = call.output.data;
  float* const scores = call.scratch.data;
  of.for_each_group(call.scratch, of.forward_scratch(), [&](const AttentionGroup& group) {
    float* const inverses = scores + group.count * of.queries * of.keys;
    const AttentionRows rows = of.rows(group);
    of.multiply_by_keys(grid, group, q, k, scores);
    scores_to_weights(grid, rows, scores, inverses, call.saved.data + group.first * of.queries);
    of.sum_over_keys(grid, group, {.begin = 0, .end = of.queries}, scores, v, y, Write::overwrite);
    scale_rows(grid, rows, inverses, y);
  });
}

// All that follows adds: what was one place stays the sum of what is given to it.
template <class Grid>
void clear_on(Grid& grid, const GradientTarget& target) {
  if (target.into.data == nullptr || target.write == Write::add) return;
  float* const into = target.into.data;
  grid.each(target.into.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) { into[i] = 0.0F; });
}

// Whether some of the gradients of q, k and v have one place: then they are added block by block.
inline bool are_of_one_place(std::span<const GradientTarget> targets) {
  const auto is_one = [&](std::size_t a, std::size_t b) {
    return targets[a].into.data != nullptr && targets[a].into.data == targets[b].into.data;
  };
  return is_one(0, 1) || is_one(0, 2) || is_one(1, 2);
}

template <class Grid>
void attend_gradient_on(Grid& grid, const SdpaOnGrid& of, const BackwardCall& call) {
  const float* const q = call.inputs[0].data;
  const float* const k = call.inputs[1].data;
  const float* const v = call.inputs[2].data;
  const float* const upstream = call.output_gradient.data;
  float* const q_gradient = call.input_gradients[0].into.data;
  float* const k_gradient = call.input_gradients[1].into.data;
  float* const v_gradient = call.input_gradients[2].into.data;
  const bool asks_for_scores = q_gradient != nullptr || k_gradient != nullptr;
  if (!asks_for_scores && v_gradient == nullptr) return;
  for (const GradientTarget& target : call.input_gradients) clear_on(grid, target);
  const std::int64_t at_once =
      are_of_one_place(call.input_gradients) ? queries_of_a_block : of.queries;
  float* const scores = call.scratch.data;
  of.for_each_group(call.scratch, of.backward_scratch(), [&](const AttentionGroup& group) {
    float* const gradients =
        asks_for_scores ? scores + group.count * of.queries * of.keys : nullptr;
    of.multiply_by_keys(grid, group, q, k, scores);
    if (asks_for_scores) of.multiply_by_keys(grid, group, upstream, v, gradients);
    back_through_softmax(grid, of.rows(group),
                         {.y = call.output.data,
                          .y_gradient = upstream,
                          .log_sums = call.saved.data + group.first * of.queries,
                          .scores = scores,
                          .gradients = gradients});
    for (std::int64_t first = 0; first < of.queries; first += at_once) {
      const Part some{.begin = first, .end = std::min(first + at_once, of.queries)};
      if (v_gradient != nullptr) {
        of.sum_over_queries(grid, group, some, scores, upstream, v_gradient);
      }
      if (q_gradient != nullptr) {
        of.sum_over_keys(grid, group, some, gradients, k, q_gradient, Write::add);
      }
      if (k_gradient != nullptr) {
        of.sum_over_queries(grid, group, some, gradients, q, k_gradient);
      }
    }
  });
}

}  // namespace trainyard::runtime

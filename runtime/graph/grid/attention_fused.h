// Attention whose scores are never in memory, where a precision and a head's depth have kernels for
// it (fused_depth()).
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/graph/grid/attention_backward_tile.h"
#include "runtime/graph/grid/attention_depth.h"
#include "runtime/graph/grid/attention_forward_tile.h"
#include "runtime/graph/grid/attention_sdpa.h"

namespace trainyard::runtime {

template <int depth>
using FilledDepth = std::integral_constant<int, depth>;

// visit(words, depth) with what the kernels are made for.
template <class Visit>
void with_fused(Precision precision, std::int64_t depth, const Visit& visit) {
  const int filled = fused_depth(precision, depth);
  if (precision == Precision::tf32) {
    if (filled == 32) return visit(Tf32Words{}, FilledDepth<32>{});
    return visit(Tf32Words{}, FilledDepth<64>{});
  }
  if (filled == 32) return visit(Bfloat16Words{}, FilledDepth<32>{});
  if (filled == 64) return visit(Bfloat16Words{}, FilledDepth<64>{});
  return visit(Bfloat16Words{}, FilledDepth<128>{});
}

inline AttentionSides fused_sides(const SdpaOnGrid& of) {
  return {of.rows({.first = 0, .count = of.pairs}), static_cast<int>(of.queries),
          static_cast<int>(of.keys)};
}

template <class Grid>
void attend_fused_on(Grid& grid, const SdpaOnGrid& of, const ForwardCall& call) {
  with_fused(grid.precision(), of.depth, [&](auto words, auto depth) {
    using Tile = AttendTile<decltype(words), depth.value>;
    const std::int64_t tiles = (of.queries + Tile::queries - 1) / Tile::queries;
    grid.blocks(of.pairs * tiles, Tile{.of = fused_sides(of),
                                       .q = call.inputs[0].data,
                                       .k = call.inputs[1].data,
                                       .v = call.inputs[2].data,
                                       .y = call.output.data,
                                       .log_sums = call.saved.data,
                                       .tiles = tiles});
  });
}

// alongs [pairs, queries]
template <class Grid>
void find_alongs(Grid& grid, const AttentionRows& rows, const float* y, const float* y_gradient,
                 float* alongs) {
  const std::int64_t queries = rows.seen.queries;
  grid.teams(rows.pairs * queries,
             [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
               const std::int64_t place =
                   rows.queries.at(row / queries) + row % queries * rows.queries.features;
               const float along = team.sum(rows.queries.depth, [=](std::int64_t i) {
                 return y[place + i] * y_gradient[place + i];
               });
               if (team.is_first()) alongs[row] = along;
             });
}

template <class Tile, class Grid>
void go_back_in_tiles(Grid& grid, const SdpaOnGrid& of, std::int64_t length, Tile tile) {
  tile.tiles = (length + Tile::length - 1) / Tile::length;
  grid.blocks(of.pairs * tile.tiles, tile);
}

// Where some of the gradients have one place, they are put there in the order of the inputs.
template <class Grid>
void attend_gradient_fused_on(Grid& grid, const SdpaOnGrid& of, const BackwardCall& call) {
  const auto targets = call.input_gradients;
  const AttentionBackward in{.of = fused_sides(of),
                             .q = call.inputs[0].data,
                             .k = call.inputs[1].data,
                             .v = call.inputs[2].data,
                             .y_gradient = call.output_gradient.data,
                             .log_sums = call.saved.data,
                             .alongs = call.scratch.data};
  const bool has_queries = targets[0].into.data != nullptr;
  const bool has_keys = targets[1].into.data != nullptr;
  if (has_queries || has_keys) {
    find_alongs(grid, in.of.rows, call.output.data, in.y_gradient, call.scratch.data);
  }
  with_fused(grid.precision(), of.depth, [&](auto words, auto depth) {
    if (has_queries) {
      using Tile = AttendBackTile<decltype(words), depth.value, AttentionSide::queries>;
      go_back_in_tiles(grid, of, of.queries, Tile{.in = in, .gradient = targets[0]});
    }
    if (has_keys || targets[2].into.data != nullptr) {
      using Tile = AttendBackTile<decltype(words), depth.value, AttentionSide::keys>;
      go_back_in_tiles(grid, of, of.keys,
                       Tile{.in = in, .gradient = targets[1], .value_gradient = targets[2]});
    }
  });
}

}  // namespace trainyard::runtime

#include "runtime/graph/cpu/dense.h"

#include <algorithm>

#include "runtime/math/ops/matmul.h"
#include "runtime/math/ops/reduction.h"
#include "runtime/math/ops/row_lookup.h"
#include "runtime/math/ops/row_pool.h"
#include "runtime/math/ops/sparse_matmul.h"

namespace trainyard::runtime {
namespace {

// Of a kernel's gradient that is told part by part: 1 MiB each, of enough rows that each panel of
// the other side is read for many of them.
constexpr std::int64_t elements_of_part = 256 * 1024;
constexpr std::int64_t rows_of_part_min = 120;

std::int64_t rows_of_part(std::int64_t columns) {
  constexpr std::int64_t whole_tiles = 12;
  return std::max(rows_of_part_min, elements_of_part / columns / whole_tiles * whole_tiles);
}

ConstTensor product_bias(const ForwardCall& call) {
  return call.inputs.size() == 3 ? call.inputs[2] : ConstTensor{};
}

void add_product_bias_gradient(const BackwardCall& call) {
  if (call.inputs.size() != 3 || call.input_gradients[2].into.data == nullptr) return;
  const GradientTarget& bias = call.input_gradients[2];
  sum_rows(call.output_gradient, bias.into, bias.write, call.threads);
}

// By parts where they can be sent while the others are computed.
void add_kernel_gradient(ConstTensor x, ConstTensor product_gradient, const BackwardCall& call) {
  const GradientTarget& kernel = call.input_gradients[1];
  if (!call.on_final_from) {
    matmul_kernel_gradient(x, product_gradient, kernel.into, kernel.write, call.threads);
    return;
  }
  const std::int64_t columns = product_gradient.shape.columns();
  matmul_kernel_gradient_by_parts(
      x, product_gradient, kernel.into, kernel.write, rows_of_part(columns),
      [&](std::int64_t first) { call.on_final_from(first * columns); }, call.threads);
}

const RowFeed& rows_of(std::int64_t table, const Feed& feed) {
  ENSURE(table < std::ssize(feed.rows));
  return feed.rows[static_cast<std::size_t>(table)];
}

RowPool row_pool_of(const RowPoolOp& op, const Feed& feed) {
  const RowFeed& rows = rows_of(op.table, feed);
  return {.x = rows.pooled.offsets.empty() ? feed.sparse : rows.pooled,
          .places = rows.places,
          .width = rows.width,
          .first = op.first,
          .mean = op.pooling == Pooling::mean,
          .counted = feed.sparse.offsets};
}

RowLookup row_lookup_of(const RowLookupOp& op, const Feed& feed) {
  const RowFeed& rows = rows_of(op.table, feed);
  return {.places = rows.places, .width = rows.width, .first = op.first};
}

}  // namespace

void run_on_cpu(const MatMulOp& op, const ForwardCall& call) {
  const auto multiply = op.has_transposed_kernel ? matmul_transposed : matmul;
  multiply(call.inputs[0], call.inputs[1], product_bias(call), call.output, call.threads);
}

void run_on_cpu(const SparseMatMulOp&, const ForwardCall& call) {
  sparse_matmul(call.feed.sparse, call.inputs[1], product_bias(call), call.output);
}

void run_on_cpu(const RowPoolOp& op, const ForwardCall& call) {
  pool_rows(row_pool_of(op, call.feed), rows_of(op.table, call.feed).rows, call.output);
}

void run_on_cpu(const RowLookupOp& op, const ForwardCall& call) {
  look_up_rows(row_lookup_of(op, call.feed), rows_of(op.table, call.feed).rows, call.output);
}

void run_back_on_cpu(const MatMulOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const GradientTarget& kernel = call.input_gradients[1];
  const ConstTensor dy = call.output_gradient;
  add_product_bias_gradient(call);
  if (kernel.into.data != nullptr) {
    if (op.has_transposed_kernel) {
      add_kernel_gradient(dy, call.inputs[0], call);
    } else {
      add_kernel_gradient(call.inputs[0], dy, call);
    }
  }
  if (x.into.data != nullptr) {
    const auto multiply_back =
        op.has_transposed_kernel ? matmul_transposed_x_gradient : matmul_x_gradient;
    multiply_back(dy, call.inputs[1], x.into, x.write, call.threads);
  }
}

void run_back_on_cpu(const SparseMatMulOp&, const BackwardCall& call) {
  const GradientTarget& kernel = call.input_gradients[1];
  if (kernel.into.data != nullptr) {
    sparse_matmul_kernel_gradient(call.feed.sparse, call.output_gradient, kernel.into,
                                  kernel.write);
  }
  add_product_bias_gradient(call);
}

void run_back_on_cpu(const RowPoolOp& op, const BackwardCall& call) {
  pool_rows_gradient(row_pool_of(op, call.feed), call.output_gradient,
                     rows_of(op.table, call.feed).gradients);
}

void run_back_on_cpu(const RowLookupOp& op, const BackwardCall& call) {
  look_up_rows_gradient(row_lookup_of(op, call.feed), call.output_gradient,
                        rows_of(op.table, call.feed).gradients);
}

}  // namespace trainyard::runtime

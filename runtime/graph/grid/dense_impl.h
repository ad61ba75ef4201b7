// The kernels of dense.h.
#pragma once

#include <algorithm>

#include "runtime/graph/grid/by_key.h"
#include "runtime/graph/grid/dense.h"
#include "runtime/graph/grid/gemm.h"
#include "runtime/graph/grid/row_sums.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

template <class Grid>
Needs DenseOps<Grid>::needs(const MatMulOp&, std::span<const Shape> inputs, const Shape& output,
                            const Grid& grid) {
  const std::int64_t rows = output.rows();
  const std::int64_t out = output.columns();
  const std::int64_t in = inputs[0].columns();
  const MatrixLines kernel{inputs[1].rows(), inputs[1].columns()};
  return {.scratch = std::max({library_scratch(grid, {rows, out, in}, {rows, in}, kernel),
                               gemm_scratch(rows, out, cuts_of(in).count()),
                               gemm_scratch(rows, in, cuts_of(out).count()),
                               gemm_scratch(in, out, cuts_of(rows).count()),
                               row_sums_scratch(rows, out)})};
}

// The sides of a product: rows or columns of a matrix [rows, columns].
inline Strided rows_of_matrix(const float* data, std::int64_t columns) {
  return {.data = data, .outer = columns, .along = 1};
}
inline Strided columns_of_matrix(const float* data, std::int64_t columns) {
  return {.data = data, .outer = 1, .along = columns};
}

// A batch may have more elements than that: they are added in turns.
template <class Grid>
Needs DenseOps<Grid>::needs(const SparseMatMulOp&, std::span<const Shape> inputs,
                            const Shape& output) {
  return {.scratch = std::max(by_key_scratch(inputs[0].elements()),
                              row_sums_scratch(output.rows(), output.columns()))};
}

template <class Grid>
Needs DenseOps<Grid>::needs(const RowPoolOp&, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = by_key_scratch(inputs[0].elements())};
}

template <class Grid>
Needs DenseOps<Grid>::needs(const RowLookupOp&, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = by_key_scratch(inputs[0].elements())};
}

template <class Grid>
void DenseOps<Grid>::forward(Grid& grid, const MatMulOp& op, const ForwardCall& call) {
  const std::int64_t in = call.inputs[0].shape.columns();
  const std::int64_t out = call.output.shape.columns();
  const float* const kernel = call.inputs[1].data;
  multiply(grid,
           GridProduct<Strided, Strided>{
               .rows = call.output.shape.rows(),
               .columns = out,
               .cuts = cuts_of(in),
               .left = rows_of_matrix(call.inputs[0].data, in),
               .right = op.has_transposed_kernel ? rows_of_matrix(kernel, in)
                                                 : columns_of_matrix(kernel, out),
               .bias = call.inputs.size() == 3 ? call.inputs[2].data : nullptr,
               .out = call.output.data,
               .out_stride = out},
           call.scratch);
}

template <class Grid>
void DenseOps<Grid>::backward(Grid& grid, const MatMulOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const GradientTarget& kernel = call.input_gradients[1];
  const ConstTensor dy = call.output_gradient;
  const std::int64_t rows = dy.shape.rows();
  const std::int64_t in = call.inputs[0].shape.columns();
  const std::int64_t out = dy.shape.columns();
  if (kernel.into.data != nullptr) {
    const Strided by_in = columns_of_matrix(call.inputs[0].data, in);
    const Strided by_out = columns_of_matrix(dy.data, out);
    const bool is_turned = op.has_transposed_kernel;
    multiply(grid,
             GridProduct<Strided, Strided>{.rows = is_turned ? out : in,
                                           .columns = is_turned ? in : out,
                                           .cuts = cuts_of(rows),
                                           .left = is_turned ? by_out : by_in,
                                           .right = is_turned ? by_in : by_out,
                                           .out = kernel.into.data,
                                           .out_stride = is_turned ? in : out,
                                           .write = kernel.write},
             call.scratch);
  }
  if (call.inputs.size() == 3 && call.input_gradients[2].into.data != nullptr) {
    const GradientTarget& bias = call.input_gradients[2];
    sum_rows_on(grid, dy, bias.into, bias.write, call.scratch);
  }
  if (x.into.data == nullptr) return;
  const float* const by = call.inputs[1].data;
  multiply(
      grid,
      GridProduct<Strided, Strided>{
          .rows = rows,
          .columns = in,
          .cuts = cuts_of(out),
          .left = rows_of_matrix(dy.data, out),
          .right = op.has_transposed_kernel ? columns_of_matrix(by, in) : rows_of_matrix(by, out),
          .out = x.into.data,
          .out_stride = in,
          .write = x.write},
      call.scratch);
}

template <class Grid>
void DenseOps<Grid>::forward(Grid& grid, const SparseMatMulOp&, const ForwardCall& call) {
  const std::int64_t out = call.output.shape.columns();
  const std::int64_t* const offsets = call.feed.sparse.offsets.data();
  const std::int32_t* const columns = call.feed.sparse.columns.data();
  const float* const values = call.feed.sparse.values.data();
  const float* const kernel = call.inputs[1].data;
  const float* const bias = call.inputs.size() == 3 ? call.inputs[2].data : nullptr;
  float* const to = call.output.data;
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t row = i / out;
    const std::int64_t column = i % out;
    const std::int64_t first = offsets[row];
    to[i] = chain_of(bias == nullptr ? 0.0F : bias[column], offsets[row + 1] - first,
                     [&](std::int64_t k) {
                       return values[first + k] * kernel[columns[first + k] * out + column];
                     });
  });
}

template <class Grid>
void DenseOps<Grid>::backward(Grid& grid, const SparseMatMulOp&, const BackwardCall& call) {
  const GradientTarget& kernel = call.input_gradients[1];
  const ConstTensor dy = call.output_gradient;
  if (kernel.into.data != nullptr) {
    if (kernel.write == Write::overwrite) clear_rows_on(grid, kernel.into);
    const SparseView& x = call.feed.sparse;
    const std::int64_t* const offsets = x.offsets.data();
    const float* const values = x.values.data();
    const std::int64_t rows = x.rows();
    const std::int64_t out = dy.shape.columns();
    add_by_key(grid,
               {.keys = x.columns.data(),
                .count = std::ssize(x.columns),
                .keys_end = kernel.into.shape.rows(),
                .from = dy.data,
                .columns = out,
                .into = kernel.into.data,
                .width = out},
               call.inputs[0].elements(), call.scratch,
               [=] TRAINYARD_KERNEL(std::int64_t element) -> Keyed {
                 const std::int64_t row = row_of_element(offsets, rows, element);
                 return {static_cast<std::int32_t>(row), values[element]};
               });
  }
  if (call.inputs.size() == 3 && call.input_gradients[2].into.data != nullptr) {
    const GradientTarget& bias = call.input_gradients[2];
    sum_rows_on(grid, dy, bias.into, bias.write, call.scratch);
  }
}

inline const RowFeed& rows_of_table(std::int64_t table, const Feed& feed) {
  ENSURE(table < std::ssize(feed.rows));
  return feed.rows[static_cast<std::size_t>(table)];
}

// What a kernel reads of pooled rows.
struct PooledElements {
  const std::int64_t* offsets = nullptr;
  const float* values = nullptr;
  const std::int64_t* counted = nullptr;
  std::int64_t examples = 0;
  bool is_mean = false;

  [[nodiscard]] TRAINYARD_BOTH float share(std::int64_t example) const {
    if (!is_mean) return 1.0F;
    return 1.0F / static_cast<float>(counted[example + 1] - counted[example]);
  }
};

inline PooledElements pooled_elements(const RowPoolOp& op, const Feed& feed) {
  const RowFeed& rows = rows_of_table(op.table, feed);
  const SparseView& x = rows.pooled.offsets.empty() ? feed.sparse : rows.pooled;
  ENSURE(rows.places.size() == x.columns.size());
  return {.offsets = x.offsets.data(),
          .values = x.values.data(),
          .counted = feed.sparse.offsets.data(),
          .examples = x.rows(),
          .is_mean = op.pooling == Pooling::mean};
}

template <class Grid>
void DenseOps<Grid>::forward(Grid& grid, const RowPoolOp& op, const ForwardCall& call) {
  const RowFeed& feed = rows_of_table(op.table, call.feed);
  const PooledElements pooled = pooled_elements(op, call.feed);
  const std::int32_t* const places = feed.places.data();
  const float* const rows = feed.rows.data() + op.first;
  const std::int64_t width = feed.width;
  const std::int64_t columns = op.columns;
  float* const to = call.output.data;
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t example = i / columns;
    const std::int64_t column = i % columns;
    const std::int64_t first = pooled.offsets[example];
    const float share = pooled.share(example);
    to[i] = chain_of(0.0F, pooled.offsets[example + 1] - first, [&](std::int64_t k) {
      const float weight = share * pooled.values[first + k];
      return weight * rows[places[first + k] * width + column];
    });
  });
}

template <class Grid>
void DenseOps<Grid>::backward(Grid& grid, const RowPoolOp& op, const BackwardCall& call) {
  const RowFeed& feed = rows_of_table(op.table, call.feed);
  const PooledElements pooled = pooled_elements(op, call.feed);
  add_by_key(grid,
             {.keys = feed.places.data(),
              .count = std::ssize(feed.places),
              .keys_end = std::ssize(feed.rows) / feed.width,
              .from = call.output_gradient.data,
              .columns = op.columns,
              .into = feed.gradients.data() + op.first,
              .width = feed.width},
             call.inputs[0].elements(), call.scratch,
             [=] TRAINYARD_KERNEL(std::int64_t element) -> Keyed {
               const std::int64_t row = row_of_element(pooled.offsets, pooled.examples, element);
               return {static_cast<std::int32_t>(row), pooled.share(row) * pooled.values[element]};
             });
}

template <class Grid>
void DenseOps<Grid>::forward(Grid& grid, const RowLookupOp& op, const ForwardCall& call) {
  const RowFeed& feed = rows_of_table(op.table, call.feed);
  ENSURE(call.output.elements() == std::ssize(feed.places) * op.columns);
  look_up_on(grid, feed.places.data(), feed.rows.data() + op.first, feed.width, call.output);
}

template <class Grid>
void DenseOps<Grid>::backward(Grid& grid, const RowLookupOp& op, const BackwardCall& call) {
  const RowFeed& feed = rows_of_table(op.table, call.feed);
  add_by_place(grid,
               {.keys = feed.places.data(),
                .count = std::ssize(feed.places),
                .keys_end = std::ssize(feed.rows) / feed.width,
                .from = call.output_gradient.data,
                .columns = op.columns,
                .into = feed.gradients.data() + op.first,
                .width = feed.width},
               call.scratch);
}

}  // namespace trainyard::runtime

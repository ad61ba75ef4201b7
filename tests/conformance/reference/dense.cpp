// Products with a matrix of parameters, rows of tables, products of values.
#include "tests/conformance/reference/ops.h"

namespace trainyard::runtime::reference {
namespace {

Number bias_at(const Call& call, std::int64_t column) {
  return call.inputs.size() == 3 ? call.inputs[2][column] : Number(0);
}

}  // namespace

Numbers defined(const MatMulOp& op, const Call& call) {
  const Array& x = call.x();
  const Array& kernel = call.inputs[1];
  const std::int64_t in = x.shape.columns();
  const std::int64_t out = call.output.columns();
  Numbers y;
  for (std::int64_t row = 0; row < x.shape.rows(); ++row) {
    for (std::int64_t column = 0; column < out; ++column) {
      Sum sum;
      for (std::int64_t i = 0; i < in; ++i) {
        sum.add_product(x[row * in + i],
                        kernel[op.has_transposed_kernel ? column * in + i : i * out + column]);
      }
      sum.add(bias_at(call, column));
      y.push_back(sum.number());
    }
  }
  return y;
}

Numbers defined(const SparseMatMulOp&, const Call& call) {
  const std::int64_t out = call.output.columns();
  Numbers y;
  for (std::size_t row = 0; row + 1 < call.feed.sparse_offsets.size(); ++row) {
    for (std::int64_t column = 0; column < out; ++column) {
      Sum sum;
      for (std::int64_t i = call.feed.sparse_offsets[row]; i < call.feed.sparse_offsets[row + 1];
           ++i) {
        const auto at = static_cast<std::size_t>(i);
        sum.add_product(static_cast<double>(call.feed.sparse_values[at]),
                        call.inputs[1][call.feed.sparse_columns[at] * out + column]);
      }
      sum.add(bias_at(call, column));
      y.push_back(sum.number());
    }
  }
  return y;
}

Numbers defined(const RowPoolOp& op, const Call& call) {
  const FeedData& feed = call.feed;
  const bool is_pooled = !feed.pooled_offsets.empty();
  const auto& offsets = is_pooled ? feed.pooled_offsets : feed.sparse_offsets;
  const auto& values = is_pooled ? feed.pooled_values : feed.sparse_values;
  Numbers y;
  for (std::size_t example = 0; example + 1 < offsets.size(); ++example) {
    const std::int64_t count = feed.sparse_offsets[example + 1] - feed.sparse_offsets[example];
    const bool divides = op.pooling == Pooling::mean && count > 0;
    for (std::int64_t column = 0; column < op.columns; ++column) {
      Sum sum;
      for (std::int64_t i = offsets[example]; i < offsets[example + 1]; ++i) {
        const auto at = static_cast<std::size_t>(i);
        sum.add_product(static_cast<double>(values[at]),
                        call.rows[static_cast<std::size_t>(feed.places[at] * feed.row_width +
                                                           op.first + column)]);
      }
      y.push_back(sum.number() / (divides ? static_cast<double>(count) : 1.0));
    }
  }
  return y;
}

Numbers defined(const RowLookupOp& op, const Call& call) {
  Numbers y;
  for (const std::int32_t place : call.feed.places) {
    for (std::int64_t column = 0; column < op.columns; ++column) {
      y.push_back(
          call.rows[static_cast<std::size_t>(place * call.feed.row_width + op.first + column)]);
    }
  }
  return y;
}

Numbers defined(const MatrixProductOp& op, const Call& call) {
  const Array& a = call.inputs[0];
  const Array& b = call.inputs[1];
  const std::size_t rank = call.output.rank();
  const std::int64_t rows = call.output[rank - 2];
  const std::int64_t columns = call.output[rank - 1];
  const std::int64_t depth = a.shape[op.lies.a ? rank - 2 : rank - 1];
  Numbers y;
  for (std::int64_t of = 0; of < call.output.elements() / (rows * columns); ++of) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        Sum sum;
        for (std::int64_t i = 0; i < depth; ++i) {
          sum.add_product(
              a[of * rows * depth + (op.lies.a ? i * rows + row : row * depth + i)],
              b[of * columns * depth + (op.lies.b ? column * depth + i : i * columns + column)]);
        }
        y.push_back(sum.number());
      }
    }
  }
  return y;
}

Numbers defined(const PairwiseDotOp&, const Call& call) {
  const Array& x = call.x();
  const std::int64_t fields = x.shape[1];
  const std::int64_t features = x.shape[2];
  Numbers y;
  for (std::int64_t example = 0; example < x.shape[0]; ++example) {
    for (std::int64_t field = 1; field < fields; ++field) {
      for (std::int64_t other = 0; other < field; ++other) {
        Sum sum;
        for (std::int64_t i = 0; i < features; ++i) {
          sum.add_product(x[(example * fields + field) * features + i],
                          x[(example * fields + other) * features + i]);
        }
        y.push_back(sum.number());
      }
    }
  }
  return y;
}

// Of each feature (sum of the fields)^2 - sum of the fields' squares is twice what all pairs have.
Numbers defined(const FactorizeOp&, const Call& call) {
  const Array& x = call.x();
  const std::int64_t fields = x.shape[1];
  const std::int64_t features = x.shape[2];
  Numbers y;
  for (std::int64_t example = 0; example < x.shape[0]; ++example) {
    Sum pairs;
    for (std::int64_t i = 0; i < features; ++i) {
      Number before = 0;
      for (std::int64_t field = 0; field < fields; ++field) {
        const Number& value = x[(example * fields + field) * features + i];
        pairs.add_product(before, value);
        before += value;
      }
    }
    y.push_back(pairs.number());
  }
  return y;
}

}  // namespace trainyard::runtime::reference

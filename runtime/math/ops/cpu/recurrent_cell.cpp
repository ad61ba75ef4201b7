// Loops of one function each over a row that stays in the nearest cache: the compiler makes vectors
// of them.
#include "runtime/math/ops/cpu/recurrent_cell.h"

#include "runtime/math/avx512.h"
#include "runtime/math/elements/recurrent_cell.h"
#include "runtime/math/ops/cpu/vector_math.h"

namespace trainyard::runtime {
namespace {

void add_row(float* to, const float* from, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

void sigmoid_row(float* row, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) row[i] = sigmoid_float(row[i]);
}

void tanh_row(const float* from, float* to, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) to[i] = tanh_float(from[i]);
}

void lstm(std::int64_t units, const CellStep& row) {
  float* const i = row.gates;
  float* const f = i + units;
  float* const g = f + units;
  float* const o = g + units;
  add_row(row.gates, row.product, 4 * units);
  sigmoid_row(i, 2 * units);
  tanh_row(g, g, units);
  sigmoid_row(o, units);
  const float* const before = row.c_before;
  float* const c = row.c;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) c[j] = lstm_c(i[j], f[j], g[j], before[j]);
  tanh_row(c, row.c_tanh, units);
  const float* const bounded = row.c_tanh;
  float* const h = row.h;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) h[j] = o[j] * bounded[j];
}

void lstm_back(std::int64_t units, const CellStepBack& row) {
  const float* const i = row.gates;
  const float* const f = i + units;
  const float* const g = f + units;
  const float* const o = g + units;
  const float* const before = row.c_before;
  const float* const bounded = row.c_tanh;
  const float* const dh = row.h_gradient;
  float* const carry = row.carry;
  float* const to_i = row.gates_gradient;
  float* const to_f = to_i + units;
  float* const to_g = to_f + units;
  float* const to_o = to_g + units;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) {
    const float dc = lstm_c_gradient(dh[j], o[j], bounded[j], carry[j]);
    to_i[j] = through_sigmoid(dc, g[j], i[j]);
    to_f[j] = through_sigmoid(dc, before[j], f[j]);
    to_g[j] = through_tanh(dc, i[j], g[j]);
    to_o[j] = through_sigmoid(dh[j], bounded[j], o[j]);
    carry[j] = dc * f[j];
  }
}

void gru(std::int64_t units, const CellStep& row) {
  float* const r = row.gates;
  float* const z = r + units;
  float* const n = z + units;
  const float* const product = row.product + 2 * units;
  float* const candidate = row.candidate;
  add_row(row.gates, row.product, 2 * units);
  sigmoid_row(r, 2 * units);
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) candidate[j] = product[j];
  if (row.recurrent_bias != nullptr) add_row(candidate, row.recurrent_bias, units);
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) n[j] += r[j] * candidate[j];
  tanh_row(n, n, units);
  const float* const before = row.h_before;
  float* const h = row.h;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) h[j] = gru_h(z[j], n[j], before[j]);
}

void gru_back(std::int64_t units, const CellStepBack& row) {
  const float* const r = row.gates;
  const float* const z = r + units;
  const float* const n = z + units;
  const float* const before = row.h_before;
  const float* const candidate = row.candidate;
  const float* const dh = row.h_gradient;
  float* const carry = row.carry;
  float* const gates = row.gates_gradient;
  float* const product = row.product_gradient;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) {
    const float whole = dh[j] + carry[j];
    const float to_n = through_tanh(whole, 1.0F - z[j], n[j]);
    const float to_r = through_sigmoid(to_n, candidate[j], r[j]);
    const float to_z = through_sigmoid(whole, before[j] - n[j], z[j]);
    gates[j] = to_r;
    gates[units + j] = to_z;
    gates[2 * units + j] = to_n;
    product[j] = to_r;
    product[units + j] = to_z;
    product[2 * units + j] = to_n * r[j];
    carry[j] = whole * z[j];
  }
}

void rnn(RecurrentCell cell, std::int64_t units, const CellStep& row) {
  add_row(row.gates, row.product, units);
  const float* const sums = row.gates;
  float* const h = row.h;
  if (cell == RecurrentCell::rnn_tanh) return tanh_row(sums, h, units);
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) h[j] = sums[j] < 0.0F ? 0.0F : sums[j];
}

void rnn_back(RecurrentCell cell, std::int64_t units, const CellStepBack& row) {
  const float* const h = row.h;
  const float* const dh = row.h_gradient;
  float* const to = row.gates_gradient;
  if (cell == RecurrentCell::rnn_tanh) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < units; ++j) to[j] = dh[j] * tanh_slope(h[j]);
  } else {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < units; ++j) to[j] = h[j] <= 0.0F ? 0.0F : dh[j];
  }
}

}  // namespace

void step(RecurrentCell cell, std::int64_t units, const CellStep& row) {
  by_vectors([&] {
    switch (cell) {
      case RecurrentCell::lstm: return lstm(units, row);
      case RecurrentCell::gru: return gru(units, row);
      case RecurrentCell::rnn_tanh:
      case RecurrentCell::rnn_relu: break;
    }
    rnn(cell, units, row);
  });
}

void step_back(RecurrentCell cell, std::int64_t units, const CellStepBack& row) {
  by_vectors([&] {
    switch (cell) {
      case RecurrentCell::lstm: return lstm_back(units, row);
      case RecurrentCell::gru: return gru_back(units, row);
      case RecurrentCell::rnn_tanh:
      case RecurrentCell::rnn_relu: break;
    }
    rnn_back(cell, units, row);
  });
}

}  // namespace trainyard::runtime

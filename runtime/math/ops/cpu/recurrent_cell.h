// One step of one example: from the sums of its gates to its state, and back.
#pragma once

#include <cstdint>

#include "runtime/math/ops/recurrence.h"

namespace trainyard::runtime {

// Each is a row of `units` numbers, gates and products of gates * units. What a cell does not have
// is null.
struct CellStep {
  float* gates = nullptr;           // in: x W + b; out: what came through the sigmoids and tanhs
  const float* product = nullptr;   // h U of the step before
  const float* h_before = nullptr;  // zeros at the first step, as c_before
  float* h = nullptr;               // out
  const float* c_before = nullptr;  // lstm
  float* c = nullptr;               // lstm, out
  float* c_tanh = nullptr;          // lstm, out
  float* candidate = nullptr;       // gru, out: h Un + recurrent bias
  const float* recurrent_bias = nullptr;  // gru; null: none
};

struct CellStepBack {
  const float* gates = nullptr;
  const float* h_before = nullptr;
  const float* h = nullptr;
  const float* c_before = nullptr;
  const float* c_tanh = nullptr;
  const float* candidate = nullptr;
  const float* h_gradient = nullptr;  // through the output and through the products
  // In: what the next step says of c (lstm) or, around its products, of h (gru); out: the same for
  // the step before.
  float* carry = nullptr;
  float* gates_gradient = nullptr;    // out: of x W + b
  float* product_gradient = nullptr;  // gru, out: of h U; of the others it is gates_gradient
};

void step(RecurrentCell cell, std::int64_t units, const CellStep& row);
void step_back(RecurrentCell cell, std::int64_t units, const CellStepBack& row);

}  // namespace trainyard::runtime

// One step of all examples of a recurrence, from the sums of the gates to the states, and back: one
// thread for each unit of an example. What is computed: ops/recurrence.h.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/team.h"
#include "runtime/math/elements/recurrent_cell.h"
#include "runtime/math/ops/cpu/vector_math.h"
#include "runtime/math/ops/recurrence.h"

namespace trainyard::runtime {

// A unit of an example in a step: where its numbers lie.
struct UnitAt {
  std::int64_t example;
  std::int64_t unit;
  std::int64_t state;         // [examples, time, units]
  std::int64_t state_before;  // of the step that runs before
  std::int64_t gate;          // [examples, time, gates]; the next gate's is `units` further
  std::int64_t product;       // [examples, gates]
  std::int64_t carried;       // [examples, units]
  bool is_there;              // the example is that long
};

// The steps of one direction in the order in which they run.
struct GridWalk {
  const std::int32_t* lengths = nullptr;  // null: all are full
  std::int64_t examples = 0;
  std::int64_t time = 0;
  std::int64_t units = 0;
  std::int64_t gates = 0;  // times units
  bool is_forward = true;

  [[nodiscard]] TRAINYARD_BOTH std::int64_t length(std::int64_t example) const {
    return lengths == nullptr ? time : lengths[example];
  }
  // The step that runs as number i, and the one before it.
  [[nodiscard]] TRAINYARD_BOTH std::int64_t at(std::int64_t i) const {
    return is_forward ? i : time - 1 - i;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t before(std::int64_t t) const {
    return is_forward ? t - 1 : t + 1;
  }
  [[nodiscard]] TRAINYARD_BOTH bool has_before(std::int64_t t) const {
    return before(t) >= 0 && before(t) < time;
  }
  [[nodiscard]] TRAINYARD_BOTH bool is_last(std::int64_t example, std::int64_t t) const {
    return is_forward ? t == length(example) - 1 : t == 0;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t last(std::int64_t example) const {
    return is_forward ? length(example) - 1 : 0;
  }
  [[nodiscard]] TRAINYARD_BOTH UnitAt unit_at(std::int64_t i, std::int64_t t) const {
    UnitAt at{};
    at.example = i / units;
    at.unit = i % units;
    const std::int64_t step = at.example * time + t;
    at.state = step * units + at.unit;
    at.state_before = (at.example * time + before(t)) * units + at.unit;
    at.gate = step * gates + at.unit;
    at.product = at.example * gates + at.unit;
    at.carried = i;
    at.is_there = t < length(at.example);
    return at;
  }

  [[nodiscard]] std::int64_t steps() const { return examples * time; }
  [[nodiscard]] std::int64_t states() const { return examples * units; }
};

// What waits for the gradient: [examples, time, ..].
template <class Float>
struct GridKept {
  Float* h = nullptr;
  Float* gates = nullptr;  // of a plain cell only while forward runs
  Float* c = nullptr;
  Float* c_tanh = nullptr;
  Float* candidate = nullptr;
};

struct StepForward {
  GridWalk walk;
  GridKept<float> kept;
  const float* product = nullptr;  // h U of the step before; null: there is none
  const float* recurrent_bias = nullptr;
  std::int64_t t = 0;

  [[nodiscard]] TRAINYARD_BOTH float gate(const UnitAt& at, std::int64_t number) const {
    return kept.gates[at.gate + number * walk.units] + product_of(at, number);
  }
  [[nodiscard]] TRAINYARD_BOTH float product_of(const UnitAt& at, std::int64_t number) const {
    return product == nullptr ? 0.0F : product[at.product + number * walk.units];
  }
  TRAINYARD_BOTH void keep_gate(const UnitAt& at, std::int64_t number, float value) const {
    kept.gates[at.gate + number * walk.units] = value;
  }
  [[nodiscard]] TRAINYARD_BOTH float before(const float* states, const UnitAt& at) const {
    return walk.has_before(t) ? states[at.state_before] : 0.0F;
  }
};

template <class Grid>
void lstm_step(Grid& grid, const StepForward& step) {
  grid.each(step.walk.states(), [=] TRAINYARD_KERNEL(std::int64_t index) {
    const UnitAt at = step.walk.unit_at(index, step.t);
    if (!at.is_there) {
      step.kept.h[at.state] = 0.0F;
      step.kept.c[at.state] = 0.0F;
      return;
    }
    const float i = sigmoid_float(step.gate(at, 0));
    const float f = sigmoid_float(step.gate(at, 1));
    const float g = tanh_float(step.gate(at, 2));
    const float o = sigmoid_float(step.gate(at, 3));
    const float c = lstm_c(i, f, g, step.before(step.kept.c, at));
    const float bounded = tanh_float(c);
    step.keep_gate(at, 0, i);
    step.keep_gate(at, 1, f);
    step.keep_gate(at, 2, g);
    step.keep_gate(at, 3, o);
    step.kept.c[at.state] = c;
    step.kept.c_tanh[at.state] = bounded;
    step.kept.h[at.state] = o * bounded;
  });
}

template <class Grid>
void gru_step(Grid& grid, const StepForward& step) {
  grid.each(step.walk.states(), [=] TRAINYARD_KERNEL(std::int64_t index) {
    const UnitAt at = step.walk.unit_at(index, step.t);
    if (!at.is_there) {
      step.kept.h[at.state] = 0.0F;
      return;
    }
    const float r = sigmoid_float(step.gate(at, 0));
    const float z = sigmoid_float(step.gate(at, 1));
    float candidate = step.product_of(at, 2);
    if (step.recurrent_bias != nullptr) candidate += step.recurrent_bias[at.unit];
    const float n = tanh_float(step.kept.gates[at.gate + 2 * step.walk.units] + r * candidate);
    step.keep_gate(at, 0, r);
    step.keep_gate(at, 1, z);
    step.keep_gate(at, 2, n);
    step.kept.candidate[at.state] = candidate;
    step.kept.h[at.state] = gru_h(z, n, step.before(step.kept.h, at));
  });
}

template <class Grid>
void rnn_step(Grid& grid, const StepForward& step, bool is_relu) {
  grid.each(step.walk.states(), [=] TRAINYARD_KERNEL(std::int64_t index) {
    const UnitAt at = step.walk.unit_at(index, step.t);
    if (!at.is_there) {
      step.kept.h[at.state] = 0.0F;
      return;
    }
    const float sum = step.gate(at, 0);
    const float bounded = sum < 0.0F ? 0.0F : sum;
    step.kept.h[at.state] = is_relu ? bounded : tanh_float(sum);
  });
}

template <class Grid>
void step_on(Grid& grid, RecurrentCell cell, const StepForward& step) {
  switch (cell) {
    case RecurrentCell::lstm: return lstm_step(grid, step);
    case RecurrentCell::gru: return gru_step(grid, step);
    case RecurrentCell::rnn_tanh:
    case RecurrentCell::rnn_relu: break;
  }
  rnn_step(grid, step, cell == RecurrentCell::rnn_relu);
}

struct StepBackward {
  GridWalk walk;
  GridKept<const float> kept;
  const float* output_gradient = nullptr;
  bool has_all_outputs = false;    // else that of the last step
  float* gates = nullptr;          // gradients, [examples, time, gates], as the next
  float* products = nullptr;       // the same but for a gru
  float* h_before = nullptr;       // [examples, time, units]
  const float* product = nullptr;  // [examples, units], as the next
  float* carry = nullptr;
  std::int64_t t = 0;

  // The output's, then that through the next step's product.
  [[nodiscard]] TRAINYARD_BOTH float h_gradient(const UnitAt& at) const {
    float output = 0.0F;
    if (has_all_outputs) {
      output = output_gradient[at.state];
    } else if (walk.is_last(at.example, t)) {
      output = output_gradient[at.carried];
    }
    return output + product[at.carried];
  }
  [[nodiscard]] TRAINYARD_BOTH float gate(const UnitAt& at, std::int64_t number) const {
    return kept.gates[at.gate + number * walk.units];
  }
  TRAINYARD_BOTH void put_gate(const UnitAt& at, std::int64_t number, float value) const {
    gates[at.gate + number * walk.units] = value;
  }
  TRAINYARD_BOTH void put_product(const UnitAt& at, std::int64_t number, float value) const {
    products[at.gate + number * walk.units] = value;
  }
  [[nodiscard]] TRAINYARD_BOTH float before(const float* states, const UnitAt& at) const {
    return walk.has_before(t) ? states[at.state_before] : 0.0F;
  }
  // No gradient comes from beyond the length. Whether it ends there.
  TRAINYARD_BOTH bool is_beyond(const UnitAt& at) const {
    if (at.is_there) {
      h_before[at.state] = before(kept.h, at);
      return false;
    }
    for (std::int64_t offset = 0; offset < walk.gates; offset += walk.units) {
      gates[at.gate + offset] = 0.0F;
      products[at.gate + offset] = 0.0F;
    }
    h_before[at.state] = 0.0F;
    return true;
  }
};

template <class Grid>
void lstm_step_back(Grid& grid, const StepBackward& step) {
  grid.each(step.walk.states(), [=] TRAINYARD_KERNEL(std::int64_t index) {
    const UnitAt at = step.walk.unit_at(index, step.t);
    if (step.is_beyond(at)) return;
    const float i = step.gate(at, 0);
    const float f = step.gate(at, 1);
    const float g = step.gate(at, 2);
    const float o = step.gate(at, 3);
    const float bounded = step.kept.c_tanh[at.state];
    const float dh = step.h_gradient(at);
    const float dc = lstm_c_gradient(dh, o, bounded, step.carry[at.carried]);
    step.put_gate(at, 0, through_sigmoid(dc, g, i));
    step.put_gate(at, 1, through_sigmoid(dc, step.before(step.kept.c, at), f));
    step.put_gate(at, 2, through_tanh(dc, i, g));
    step.put_gate(at, 3, through_sigmoid(dh, bounded, o));
    step.carry[at.carried] = dc * f;
  });
}

template <class Grid>
void gru_step_back(Grid& grid, const StepBackward& step) {
  grid.each(step.walk.states(), [=] TRAINYARD_KERNEL(std::int64_t index) {
    const UnitAt at = step.walk.unit_at(index, step.t);
    if (step.is_beyond(at)) return;
    const float r = step.gate(at, 0);
    const float z = step.gate(at, 1);
    const float n = step.gate(at, 2);
    const float whole = step.h_gradient(at) + step.carry[at.carried];
    const float to_n = through_tanh(whole, 1.0F - z, n);
    const float to_r = through_sigmoid(to_n, step.kept.candidate[at.state], r);
    const float to_z = through_sigmoid(whole, step.before(step.kept.h, at) - n, z);
    step.put_gate(at, 0, to_r);
    step.put_gate(at, 1, to_z);
    step.put_gate(at, 2, to_n);
    step.put_product(at, 0, to_r);
    step.put_product(at, 1, to_z);
    step.put_product(at, 2, to_n * r);
    step.carry[at.carried] = whole * z;
  });
}

template <class Grid>
void rnn_step_back(Grid& grid, const StepBackward& step, bool is_relu) {
  grid.each(step.walk.states(), [=] TRAINYARD_KERNEL(std::int64_t index) {
    const UnitAt at = step.walk.unit_at(index, step.t);
    if (step.is_beyond(at)) return;
    const float h = step.kept.h[at.state];
    const float dh = step.h_gradient(at);
    const float bounded = h <= 0.0F ? 0.0F : dh;
    step.put_gate(at, 0, is_relu ? bounded : dh * tanh_slope(h));
  });
}

template <class Grid>
void step_back_on(Grid& grid, RecurrentCell cell, const StepBackward& step) {
  switch (cell) {
    case RecurrentCell::lstm: return lstm_step_back(grid, step);
    case RecurrentCell::gru: return gru_step_back(grid, step);
    case RecurrentCell::rnn_tanh:
    case RecurrentCell::rnn_relu: break;
  }
  rnn_step_back(grid, step, cell == RecurrentCell::rnn_relu);
}

}  // namespace trainyard::runtime

// What a recurrence keeps for its gradient, and the order of its steps.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/ops/recurrence.h"
#include "runtime/math/ops/scratch.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

struct Room {
  std::int64_t steps;  // of all examples
  std::int64_t units;
  std::int64_t gates;   // gates * units
  std::int64_t states;  // examples * units
};

inline Room room_of(RecurrentCell cell, const RecurrentSizes& sizes) {
  return {.steps = sizes.examples * sizes.time,
          .units = sizes.units,
          .gates = gates_of(cell) * sizes.units,
          .states = sizes.examples * sizes.units};
}

inline bool is_plain(RecurrentCell cell) {
  return cell == RecurrentCell::rnn_tanh || cell == RecurrentCell::rnn_relu;
}

// What waits for the gradient: [examples, time, ..].
struct Kept {
  float* h = nullptr;
  float* gates = nullptr;  // not of a plain cell, whose h is what came through
  float* c = nullptr;
  float* c_tanh = nullptr;
  float* candidate = nullptr;
};

inline Kept cut_kept(Scratch& memory, RecurrentCell cell, const RecurrentSizes& sizes) {
  const Room room = room_of(cell, sizes);
  const auto states = [&] { return memory.take<float>(room.steps * room.units).data(); };
  Kept kept{.h = states()};
  if (!is_plain(cell)) kept.gates = memory.take<float>(room.steps * room.gates).data();
  if (cell == RecurrentCell::lstm) {
    kept.c = states();
    kept.c_tanh = states();
  }
  if (cell == RecurrentCell::gru) kept.candidate = states();
  return kept;
}

inline RecurrentSizes sizes_of(ConstTensor x, const RecurrentParameters& parameters) {
  ENSURE(x.shape.rank() == 3 && parameters.recurrent_kernel.shape.rank() == 2);
  return {.examples = x.shape[0],
          .time = x.shape[1],
          .in = x.shape[2],
          .units = parameters.recurrent_kernel.shape[0]};
}

// The steps of one direction in the order in which they run.
class Walk {
 public:
  Walk(const Recurrence& kind, const RecurrentSizes& sizes, std::span<const std::int32_t> lengths)
      : order_(kind.order), time_(sizes.time), lengths_(lengths) {
    ENSURE(lengths.empty() || std::ssize(lengths) == sizes.examples);
  }

  [[nodiscard]] std::int64_t length(std::int64_t example) const {
    return lengths_.empty() ? time_ : lengths_[static_cast<std::size_t>(example)];
  }
  [[nodiscard]] bool has(std::int64_t example, std::int64_t t) const { return t < length(example); }
  // The step that runs as number i, and the one before it.
  [[nodiscard]] std::int64_t at(std::int64_t i) const {
    return order_ == TimeOrder::forward ? i : time_ - 1 - i;
  }
  [[nodiscard]] std::int64_t before(std::int64_t t) const {
    return order_ == TimeOrder::forward ? t - 1 : t + 1;
  }
  [[nodiscard]] bool has_before(std::int64_t t) const {
    return before(t) >= 0 && before(t) < time_;
  }
  [[nodiscard]] bool is_last(std::int64_t example, std::int64_t t) const {
    return order_ == TimeOrder::forward ? t == length(example) - 1 : t == 0;
  }

 private:
  TimeOrder order_;
  std::int64_t time_;
  std::span<const std::int32_t> lengths_;
};

// Scratch of the gradient alone, in bytes.
std::size_t recurrence_gradient_bytes(RecurrentCell cell, const RecurrentSizes& sizes,
                                      std::int64_t threads);

// All examples; each takes one thread so long, roughly.
inline Items examples_to_walk(const RecurrentSizes& sizes, const Room& room) {
  constexpr double cell_nanoseconds = 1;  // of a gate
  const double step = gemm_nanoseconds(static_cast<double>(room.gates * room.units)) +
                      cell_nanoseconds * static_cast<double>(room.gates);
  return {.count = sizes.examples, .nanoseconds_each = step * static_cast<double>(sizes.time)};
}

}  // namespace trainyard::runtime

// The input's part of all steps is one product; then each step is a small product with the state
// and a loop over the cells. The recurrent kernel is packed once for all steps.
#include "runtime/math/ops/recurrence.h"

#include <algorithm>

#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/ops/cpu/recurrent_cell.h"
#include "runtime/math/ops/cpu/recurrent_room.h"
#include "runtime/math/ops/matmul.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

struct ForwardRoom {
  float* product = nullptr;  // [examples, gates]
  float* zeros = nullptr;    // [units]
  float* packed = nullptr;
  float* gates = nullptr;  // [examples, time, gates] of a plain cell
};

ForwardRoom cut_forward(Scratch& memory, RecurrentCell cell, const RecurrentSizes& sizes) {
  const Room room = room_of(cell, sizes);
  ForwardRoom cut;
  cut.product = memory.take<float>(sizes.examples * room.gates).data();
  cut.zeros = memory.take<float>(room.units).data();
  cut.packed = memory.take<float>(packed_right_elements(room.units, room.gates)).data();
  if (is_plain(cell)) cut.gates = memory.take<float>(room.steps * room.gates).data();
  return cut;
}

class Forward {
 public:
  explicit Forward(const RecurrenceForward& call)
      : call_(call),
        cell_(call.kind.cell),
        sizes_(sizes_of(call.x, call.parameters)),
        room_(room_of(cell_, sizes_)),
        walk_(call.kind, sizes_, call.lengths) {
    Scratch saved(call.saved);
    kept_ = cut_kept(saved, cell_, sizes_);
    Scratch scratch(call.scratch);
    cut_ = cut_forward(scratch, cell_, sizes_);
    gates_ = is_plain(cell_) ? cut_.gates : kept_.gates;
  }

  void run() {
    matmul({call_.x.data, {room_.steps, sizes_.in}}, call_.parameters.kernel, call_.parameters.bias,
           {gates_, {room_.steps, room_.gates}}, call_.threads);
    product_.columns = room_.gates;
    product_.depth = room_.units;
    product_.right = {call_.parameters.recurrent_kernel.data, room_.gates, 1};
    if (sizes_.time > 1) pack_right(product_, cut_.packed);
    product_.packed_right = cut_.packed;
    std::fill_n(cut_.zeros, room_.units, 0.0F);
    call_.threads.split(examples_to_walk(sizes_, room_), [this](const Part& part) {
      for (std::int64_t i = 0; i < sizes_.time; ++i) run_step(part, walk_.at(i));
    });
    write_output();
  }

 private:
  void run_step(const Part& part, std::int64_t t) {
    float* const to = cut_.product + part.begin * room_.gates;
    if (walk_.has_before(t)) {
      Product product = product_;
      product.rows = part.count();
      product.left = {state(kept_.h, part.begin, walk_.before(t)), sizes_.time * room_.units, 1};
      product.out = to;
      gemm(product);
    } else {
      std::fill_n(to, part.count() * room_.gates, 0.0F);
    }
    for (std::int64_t example = part.begin; example < part.end; ++example) {
      if (walk_.has(example, t)) {
        run_cell(example, t);
      } else {
        clear(example, t);
      }
    }
  }

  void run_cell(std::int64_t example, std::int64_t t) {
    CellStep row{.gates = gates_ + (example * sizes_.time + t) * room_.gates,
                 .product = cut_.product + example * room_.gates,
                 .h_before = state_before(kept_.h, example, t),
                 .h = state(kept_.h, example, t),
                 .recurrent_bias = call_.parameters.recurrent_bias.data};
    if (kept_.c != nullptr) {
      row.c_before = state_before(kept_.c, example, t);
      row.c = state(kept_.c, example, t);
      row.c_tanh = state(kept_.c_tanh, example, t);
    }
    if (kept_.candidate != nullptr) row.candidate = state(kept_.candidate, example, t);
    step(cell_, room_.units, row);
  }

  // Where backward in time the next step starts, and what the output has there. The gradient does
  // not read the others.
  void clear(std::int64_t example, std::int64_t t) {
    std::fill_n(state(kept_.h, example, t), room_.units, 0.0F);
    if (kept_.c != nullptr) std::fill_n(state(kept_.c, example, t), room_.units, 0.0F);
  }

  void write_output() {
    if (call_.kind.output == Recurrence::Output::all) {
      ENSURE(call_.output.elements() == room_.steps * room_.units);
      std::copy_n(kept_.h, room_.steps * room_.units, call_.output.data);
      return;
    }
    ENSURE(call_.output.elements() == room_.states);
    for (std::int64_t example = 0; example < sizes_.examples; ++example) {
      const std::int64_t length = walk_.length(example);
      const std::int64_t last = call_.kind.order == TimeOrder::forward ? length - 1 : 0;
      const float* const from = length > 0 ? state(kept_.h, example, last) : cut_.zeros;
      std::copy_n(from, room_.units, call_.output.data + example * room_.units);
    }
  }

  [[nodiscard]] float* state(float* states, std::int64_t example, std::int64_t t) const {
    return states + (example * sizes_.time + t) * room_.units;
  }
  [[nodiscard]] const float* state_before(float* states, std::int64_t example,
                                          std::int64_t t) const {
    return walk_.has_before(t) ? state(states, example, walk_.before(t)) : cut_.zeros;
  }

  const RecurrenceForward& call_;
  RecurrentCell cell_;
  RecurrentSizes sizes_;
  Room room_;
  Walk walk_;
  Kept kept_;
  ForwardRoom cut_;
  float* gates_ = nullptr;
  Product product_;
};

}  // namespace

std::size_t recurrence_saved_bytes(RecurrentCell cell, const RecurrentSizes& sizes) {
  Scratch counts;
  cut_kept(counts, cell, sizes);
  return counts.used_bytes();
}

std::size_t recurrence_scratch_bytes(RecurrentCell cell, const RecurrentSizes& sizes,
                                     std::int64_t threads) {
  Scratch forward;
  cut_forward(forward, cell, sizes);
  return std::max(forward.used_bytes(), recurrence_gradient_bytes(cell, sizes, threads));
}

void recurrence(const RecurrenceForward& call) { Forward(call).run(); }

}  // namespace trainyard::runtime

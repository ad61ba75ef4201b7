// Step after step from the last to the first: through the cells, then a small product to the state
// before. The gradients of the kernels and of the input are one product each, at the end.
#include <algorithm>

#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/ops/cpu/recurrent_cell.h"
#include "runtime/math/ops/cpu/recurrent_room.h"
#include "runtime/math/ops/matmul.h"
#include "runtime/math/ops/recurrence.h"
#include "runtime/math/ops/reduction.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

struct BackwardRoom {
  float* gates = nullptr;       // [examples, time, gates], gradients, as the next
  float* products = nullptr;    // the same memory but for a gru
  float* h_before = nullptr;    // [examples, time, units]
  float* product = nullptr;     // [examples, units]
  float* carry = nullptr;       // [examples, units]
  float* h_gradient = nullptr;  // [threads, units]
  float* zeros = nullptr;       // [units]
  float* bias = nullptr;        // [gates]
  float* packed = nullptr;
};

BackwardRoom cut_backward(Scratch& memory, RecurrentCell cell, const RecurrentSizes& sizes,
                          std::int64_t threads) {
  const Room room = room_of(cell, sizes);
  const auto take = [&](std::int64_t count) { return memory.take<float>(count).data(); };
  BackwardRoom cut;
  cut.gates = take(room.steps * room.gates);
  cut.products = cell == RecurrentCell::gru ? take(room.steps * room.gates) : cut.gates;
  cut.h_before = take(room.steps * room.units);
  cut.product = take(room.states);
  cut.carry = take(room.states);
  cut.h_gradient = take(threads * round_up_to_alignment(room.units));
  cut.zeros = take(room.units);
  cut.bias = take(room.gates);
  cut.packed = take(packed_right_elements(room.gates, room.units));
  return cut;
}

class Backward {
 public:
  explicit Backward(const RecurrenceBackward& call)
      : call_(call),
        cell_(call.kind.cell),
        sizes_(sizes_of(call.x, call.parameters)),
        room_(room_of(cell_, sizes_)),
        walk_(call.kind, sizes_, call.lengths) {
    // Only read: the gradient changes nothing of it.
    Scratch saved({const_cast<std::byte*>(call.saved.data()), call.saved.size()});  // NOLINT
    kept_ = cut_kept(saved, cell_, sizes_);
    Scratch scratch(call.scratch);
    cut_ = cut_backward(scratch, cell_, sizes_, call.threads.count());
  }

  void run() {
    product_.columns = room_.units;
    product_.depth = room_.gates;
    product_.right = {call_.parameters.recurrent_kernel.data, 1, room_.gates};
    if (sizes_.time > 1) pack_right(product_, cut_.packed);
    product_.packed_right = cut_.packed;
    std::fill_n(cut_.zeros, room_.units, 0.0F);
    std::fill_n(cut_.carry, room_.states, 0.0F);
    std::fill_n(cut_.product, room_.states, 0.0F);
    call_.threads.split(examples_to_walk(sizes_, room_), [this](const Part& part) {
      for (std::int64_t i = sizes_.time; i-- > 0;) run_step(part, walk_.at(i));
    });
    add_up();
  }

 private:
  void run_step(const Part& part, std::int64_t t) {
    float* const h_gradient = cut_.h_gradient + part.member * round_up_to_alignment(room_.units);
    for (std::int64_t example = part.begin; example < part.end; ++example) {
      if (walk_.has(example, t)) {
        run_cell(example, t, h_gradient);
      } else {
        clear(example, t);
      }
    }
    if (!walk_.has_before(t)) return;
    Product product = product_;
    product.rows = part.count();
    product.left = {cut_.products + (part.begin * sizes_.time + t) * room_.gates,
                    sizes_.time * room_.gates, 1};
    product.out = cut_.product + part.begin * room_.units;
    gemm(product);
  }

  void run_cell(std::int64_t example, std::int64_t t, float* h_gradient) {
    set_h_gradient(example, t, h_gradient);
    const std::int64_t place = example * sizes_.time + t;
    float* const h_before = cut_.h_before + place * room_.units;
    std::copy_n(state_before(kept_.h, example, t), room_.units, h_before);
    CellStepBack row{.h_before = h_before,
                     .h = state(kept_.h, example, t),
                     .h_gradient = h_gradient,
                     .carry = cut_.carry + example * room_.units,
                     .gates_gradient = cut_.gates + place * room_.gates,
                     .product_gradient = cut_.products + place * room_.gates};
    if (kept_.gates != nullptr) row.gates = kept_.gates + place * room_.gates;
    if (kept_.candidate != nullptr) row.candidate = state(kept_.candidate, example, t);
    if (kept_.c != nullptr) {
      row.c_before = state_before(kept_.c, example, t);
      row.c_tanh = state(kept_.c_tanh, example, t);
    }
    step_back(cell_, room_.units, row);
  }

  // The output's, then that through the next step's product.
  void set_h_gradient(std::int64_t example, std::int64_t t, float* to) {
    const float* output = cut_.zeros;
    if (call_.kind.output == Recurrence::Output::all) {
      output = call_.output_gradient.data + (example * sizes_.time + t) * room_.units;
    } else if (walk_.is_last(example, t)) {
      output = call_.output_gradient.data + example * room_.units;
    }
    const float* const product = cut_.product + example * room_.units;
#pragma GCC ivdep
    for (std::int64_t j = 0; j < room_.units; ++j) to[j] = output[j] + product[j];
  }

  // No gradient comes from beyond the length.
  void clear(std::int64_t example, std::int64_t t) {
    const std::int64_t place = example * sizes_.time + t;
    std::fill_n(cut_.gates + place * room_.gates, room_.gates, 0.0F);
    if (cell_ == RecurrentCell::gru) {
      std::fill_n(cut_.products + place * room_.gates, room_.gates, 0.0F);
    }
    std::fill_n(cut_.h_before + place * room_.units, room_.units, 0.0F);
  }

  void add_up() {
    const ConstTensor gates{cut_.gates, {room_.steps, room_.gates}};
    const ConstTensor products{cut_.products, {room_.steps, room_.gates}};
    const ConstTensor x{call_.x.data, {room_.steps, sizes_.in}};
    if (const auto& to = call_.kernel_gradient; to.into.data != nullptr) {
      matmul_kernel_gradient(x, gates, to.into, to.write, call_.threads);
    }
    if (const auto& to = call_.recurrent_kernel_gradient; to.into.data != nullptr) {
      matmul_kernel_gradient({cut_.h_before, {room_.steps, room_.units}}, products, to.into,
                             to.write, call_.threads);
    }
    if (const auto& to = call_.bias_gradient; to.into.data != nullptr) {
      sum_rows(gates, to.into, to.write, call_.threads);
    }
    if (const auto& to = call_.recurrent_bias_gradient; to.into.data != nullptr) {
      sum_rows(products, {cut_.bias, {room_.gates}}, Write::overwrite, call_.threads);
      const float* const sums = cut_.bias + 2 * room_.units;
      for (std::int64_t j = 0; j < room_.units; ++j) {
        to.into.data[j] = to.write == Write::add ? to.into.data[j] + sums[j] : sums[j];
      }
    }
    if (const auto& to = call_.x_gradient; to.into.data != nullptr) {
      matmul_x_gradient(gates, call_.parameters.kernel, {to.into.data, {room_.steps, sizes_.in}},
                        to.write, call_.threads);
    }
  }

  [[nodiscard]] const float* state(const float* states, std::int64_t example,
                                   std::int64_t t) const {
    return states + (example * sizes_.time + t) * room_.units;
  }
  [[nodiscard]] const float* state_before(const float* states, std::int64_t example,
                                          std::int64_t t) const {
    return walk_.has_before(t) ? state(states, example, walk_.before(t)) : cut_.zeros;
  }

  const RecurrenceBackward& call_;
  RecurrentCell cell_;
  RecurrentSizes sizes_;
  Room room_;
  Walk walk_;
  Kept kept_;
  BackwardRoom cut_;
  Product product_;
};

}  // namespace

std::size_t recurrence_gradient_bytes(RecurrentCell cell, const RecurrentSizes& sizes,
                                      std::int64_t threads) {
  Scratch counts;
  cut_backward(counts, cell, sizes, threads);
  return counts.used_bytes();
}

void recurrence_gradient(const RecurrenceBackward& call) { Backward(call).run(); }

}  // namespace trainyard::runtime

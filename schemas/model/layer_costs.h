// What a layer computes and what it keeps, of one example.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "schemas/model/shape.h"

namespace trainyard::model {

// What waits for the backward pass.
enum class Kept {
  input,
  input_for_kernel,  // where the kernel has a gradient
  output,
};

// Where a layer's gradients go.
struct WantedGradients {
  std::int64_t inputs = 0;
  std::int64_t kernels = 0;  // 0 or 1: of all its kernels
};

class LayerCosts {
 public:
  // Multiply-adds; each input's and each kernel's gradient costs as many.
  void multiplies(Count forward) { forward_ = plus(forward_, forward); }
  // The same of products with a state of the layer's own, whose gradient is wanted always.
  void multiplies_state(Count forward) { state_ = plus(state_, forward); }
  // The same where the backward pass costs another number.
  void multiplies(Count forward, Count backward) {
    multiplies(forward);
    backward_ = plus(backward_.value_or(0), backward);
  }
  void keeps(Kept what, std::size_t input = 0) { kept_.emplace_back(what, input); }
  void keeps_bytes(Count bytes) { bytes_ = plus(bytes_, bytes); }
  // Of its input: keeping the one is keeping the other.
  void is_view() { is_view_ = true; }
  // It could not be looked at.
  void are_unknown() {
    forward_.reset();
    state_.reset();
    bytes_.reset();
  }

  [[nodiscard]] Count forward() const { return plus(forward_, state_); }
  [[nodiscard]] Count backward(const WantedGradients& wanted) const {
    if (backward_) return *backward_;
    return plus(times(wanted.inputs + wanted.kernels, forward_), times(1 + wanted.kernels, state_));
  }
  [[nodiscard]] const std::vector<std::pair<Kept, std::size_t>>& kept() const { return kept_; }
  [[nodiscard]] Count bytes() const { return bytes_; }
  [[nodiscard]] bool shares_bytes() const { return is_view_; }

 private:
  std::vector<std::pair<Kept, std::size_t>> kept_;  // and of which input
  Count forward_ = 0;
  Count state_ = 0;
  std::optional<Count> backward_;
  Count bytes_ = 0;
  bool is_view_ = false;
};

}  // namespace trainyard::model

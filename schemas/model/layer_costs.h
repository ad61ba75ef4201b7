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

class LayerCosts {
 public:
  // Multiply-adds; each input's and each kernel's gradient costs as many.
  void multiplies(Count forward) { forward_ = plus(forward_, forward); }
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
    bytes_.reset();
  }

  [[nodiscard]] Count forward() const { return forward_; }
  // Where so many values and kernels have a gradient.
  [[nodiscard]] Count backward(std::int64_t gradients) const {
    return backward_ ? *backward_ : times(gradients, forward_);
  }
  [[nodiscard]] const std::vector<std::pair<Kept, std::size_t>>& kept() const { return kept_; }
  [[nodiscard]] Count bytes() const { return bytes_; }
  [[nodiscard]] bool shares_bytes() const { return is_view_; }

 private:
  std::vector<std::pair<Kept, std::size_t>> kept_;  // and of which input
  Count forward_ = 0;
  std::optional<Count> backward_;
  Count bytes_ = 0;
  bool is_view_ = false;
};

}  // namespace trainyard::model

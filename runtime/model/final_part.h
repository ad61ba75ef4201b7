// Which end of a gradient is final while it is computed: variables become final from the last layer
// to the first, but not strictly in their order in the arena.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/variable.h"

namespace trainyard::runtime {

// Frozen variables have none, and are waited for no more than state, which comes last in the arena
// and is final with the whole gradient.
class FinalPart {
 public:
  // Of variables in the order of the arena, which outlive this.
  explicit FinalPart(std::span<const Variable> variables)
      : variables_(variables), first_(variables.size()) {
    for (const Variable& variable : variables) {
      final_.push_back(variable.update != UpdateRule::optimizer);
    }
    pass_final();
  }

  // The gradient of variables[i] is final. The elements from here on are, but for state.
  std::int64_t add(std::size_t i) {
    final_[i] = true;
    pass_final();
    return said(first_ < variables_.size() ? variables_[first_].offset : end());
  }

  // The same of the elements of variables[i] from `element` on.
  std::int64_t add_part(std::size_t i, std::int64_t element) {
    return said(first_ == i + 1 ? variables_[i].offset + element : end());
  }

 private:
  void pass_final() {
    while (first_ > 0 && final_[first_ - 1]) --first_;
  }
  [[nodiscard]] std::int64_t end() const {
    return variables_.empty() ? 0 : variables_.back().offset + variables_.back().elements;
  }

  // What was said to be final stays so.
  std::int64_t said(std::int64_t from) { return least_ = std::min(least_, from); }

  std::span<const Variable> variables_;
  std::vector<bool> final_;
  std::size_t first_;               // of those behind which all are final
  std::int64_t least_ = INT64_MAX;  // of the ends that were said
};

}  // namespace trainyard::runtime

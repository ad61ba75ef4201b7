// One example of a batch for CTC.
#pragma once

#include "runtime/math/ops/ctc.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

struct CtcExample {
  std::int64_t number = 0;
  const float* scores = nullptr;  // [time, classes]
  std::int64_t time = 0;          // its length
  std::int64_t classes = 0;
  std::int64_t blank = 0;
  std::span<const std::int32_t> symbols;

  // The class of a symbol of the text.
  [[nodiscard]] std::int32_t class_of(std::size_t place) const {
    const std::int32_t symbol = symbols[place];
    return symbol <= blank ? symbol - 1 : symbol;
  }
};

template <class Visit>
void for_each_example(const CtcBatch& batch, Visit visit) {
  const Shape& shape = batch.scores.shape;
  ENSURE(shape.rank() == 3 && batch.blank >= 0 && batch.blank < shape[2]);
  ENSURE(std::ssize(batch.offsets) == shape[0] + 1);
  ENSURE(batch.lengths.empty() || std::ssize(batch.lengths) == shape[0]);
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int32_t begin = batch.offsets[at];
    visit(CtcExample{
        .number = i,
        .scores = batch.scores.data + i * shape[1] * shape[2],
        .time = batch.lengths.empty() ? shape[1] : batch.lengths[at],
        .classes = shape[2],
        .blank = batch.blank,
        .symbols = batch.symbols.subspan(static_cast<std::size_t>(begin),
                                         static_cast<std::size_t>(batch.offsets[at + 1] - begin))});
  }
}

}  // namespace trainyard::runtime

#include "runtime/math/ops/in_batch_softmax.h"

#include <algorithm>
#include <numeric>

#include "runtime/math/ops/loss.h"
#include "runtime/math/ops/matmul.h"
#include "runtime/math/ops/scratch.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

struct InBatchRoom {
  Tensor scores;                // [examples, examples], or their gradients
  std::span<std::int32_t> own;  // each example's own item: its number
};

InBatchRoom cut_in_batch_room(Scratch& scratch, std::int64_t examples) {
  const std::span<float> scores = scratch.take<float>(examples * examples);
  return {.scores = {scores.data(), {examples, examples}},
          .own = scratch.take<std::int32_t>(examples)};
}

void scale_scores(Tensor values, float factor) {
  for (float& value : values.span()) value *= factor;
}

void subtract_from_each_row(ConstTensor row, Tensor values) {
  const std::span<const float> subtracted = row.span();
  ENSURE(subtracted.size() == static_cast<std::size_t>(values.shape.columns()));
  const std::span<float> all = values.span();
  for (std::size_t begin = 0; begin < all.size(); begin += subtracted.size()) {
    for (std::size_t i = 0; i < subtracted.size(); ++i) all[begin + i] -= subtracted[i];
  }
}

// In the order of the rows.
void subtract_rows(ConstTensor values, const TowerGradient& sum) {
  const std::span<float> into = sum.into.span();
  ENSURE(into.size() == static_cast<std::size_t>(values.shape.columns()));
  if (sum.write == Write::overwrite) std::ranges::fill(into, 0.0F);
  const std::span<const float> all = values.span();
  for (std::size_t begin = 0; begin < all.size(); begin += into.size()) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] -= all[begin + i];
  }
}

InBatchRoom in_batch_room_of(const Towers& towers, std::span<std::byte> scratch) {
  ENSURE(towers.users.shape == towers.items.shape && towers.users.shape.rank() == 2);
  Scratch memory(scratch);
  const InBatchRoom room = cut_in_batch_room(memory, towers.users.shape.rows());
  std::iota(room.own.begin(), room.own.end(), 0);
  return room;
}

}  // namespace

std::size_t in_batch_scratch_bytes(std::int64_t examples) {
  Scratch scratch;
  cut_in_batch_room(scratch, examples);
  return scratch.used_bytes();
}

void in_batch_softmax(const Towers& towers, float temperature, Tensor losses, Tensor probabilities,
                      std::span<std::byte> scratch) {
  const InBatchRoom room = in_batch_room_of(towers, scratch);
  matmul_transposed(towers.users, towers.items, {}, room.scores);
  scale_scores(room.scores, 1.0F / temperature);
  if (towers.log_frequency) subtract_from_each_row(*towers.log_frequency, room.scores);
  softmax_cross_entropy(room.scores, room.own, losses, probabilities);
}

void in_batch_softmax_gradient(const Towers& towers, float temperature, ConstTensor probabilities,
                               ConstTensor losses_gradient, const TowersGradient& gradient,
                               std::span<std::byte> scratch) {
  const auto& [users, items, log_frequency] = gradient;
  const InBatchRoom room = in_batch_room_of(towers, scratch);
  softmax_cross_entropy_gradient(probabilities, room.own, losses_gradient, room.scores,
                                 Write::overwrite);
  if (log_frequency.into.data != nullptr) subtract_rows(room.scores, log_frequency);
  scale_scores(room.scores, 1.0F / temperature);
  if (users.into.data != nullptr) {
    matmul_transposed_x_gradient(room.scores, towers.items, users.into, users.write);
  }
  if (items.into.data != nullptr) {
    matmul_kernel_gradient(room.scores, towers.users, items.into, items.write);
  }
}

void match_in_batch(std::int64_t k, const Towers& towers, Tensor matches,
                    std::span<std::byte> scratch) {
  const InBatchRoom room = in_batch_room_of(towers, scratch);
  matmul_transposed(towers.users, towers.items, {}, room.scores);
  match_top_labels(k, room.scores, room.own, matches);
}

}  // namespace trainyard::runtime

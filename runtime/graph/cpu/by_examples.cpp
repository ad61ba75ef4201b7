#include "runtime/graph/cpu/by_examples.h"

#include <algorithm>

#include "runtime/math/aligned_buffer.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Of what an op saves: `elements` of the whole batch, or nothing.
template <class T>
View<T> saved_in(const View<T>& room, std::int64_t elements, std::int64_t examples,
                 const Part& part) {
  if (elements == 0) return {};
  ENSURE(elements % examples == 0);
  const std::int64_t each = elements / examples;
  return {room.data + part.begin * each, {part.count() * each}};
}

// A list with `each` of its elements for an example, and `more` at the end; or none.
template <class T>
std::span<const T> list_in(std::span<const T> list, const Feed& feed, const Part& part,
                           std::int64_t more = 0) {
  if (list.empty()) return list;
  const std::int64_t each = (std::ssize(list) - more) / feed.examples;
  return list.subspan(static_cast<std::size_t>(part.begin * each),
                      static_cast<std::size_t>(part.count() * each + more));
}

Feed feed_in(const Feed& feed, const Part& part) {
  Feed some = feed;
  some.examples = part.count();
  some.labels = list_in(feed.labels, feed, part);
  some.targets = list_in(feed.targets, feed, part);
  some.lengths = list_in(feed.lengths, feed, part);
  some.token_labels = list_in(feed.token_labels, feed, part);
  some.symbol_offsets = list_in(feed.symbol_offsets, feed, part, 1);
  some.first_position += static_cast<std::uint64_t>(part.begin);
  some.features = {};
  some.sparse = {};
  some.rows = {};
  some.ids = {};
  return some;
}

// A thread's share of the room.
Tensor scratch_of(const Tensor& room, const Threads& threads, const Part& part) {
  if (room.data == nullptr) return room;
  constexpr auto line = static_cast<std::int64_t>(alignment_elements);
  const std::int64_t each = room.elements() / threads.count() / line * line;
  return {room.data + part.member * each, {each}};
}

Items divided(std::span<const ConstTensor> inputs, const Shape& output, std::int64_t examples,
              double nanoseconds) {
  std::int64_t most = output.elements();
  bool can_be = inputs.size() <= divided_inputs_max && output.rank() > 0 && output[0] == examples;
  for (const ConstTensor& input : inputs) {
    can_be = can_be && input.shape.rank() > 0 && input.shape[0] == examples;
    most = std::max(most, input.elements());
  }
  if (!can_be) return {.count = 1};
  const auto all = static_cast<double>(std::max<std::int64_t>(1, examples));
  return {.count = examples, .nanoseconds_each = static_cast<double>(most) * nanoseconds / all};
}

}  // namespace

double element_nanoseconds(const ActivationOp& op) {
  switch (op.function.kind) {
    case Nonlinearity::relu:
    case Nonlinearity::leaky_relu:
    case Nonlinearity::sqrt:
    case Nonlinearity::square:
    case Nonlinearity::abs: return 0.3;
    default: return 1;
  }
}

InputShapes::InputShapes(std::span<const ConstTensor> inputs) : count_(inputs.size()) {
  ENSURE(count_ <= shapes_.size());
  std::ranges::transform(inputs, shapes_.begin(), &ConstTensor::shape);
}

Items examples_of(const ForwardCall& call, double element_nanoseconds) {
  return divided(call.inputs, call.output.shape, call.feed.examples, element_nanoseconds);
}

Items examples_of(const BackwardCall& call, double element_nanoseconds) {
  return divided(call.inputs, call.output_gradient.shape, call.feed.examples, element_nanoseconds);
}

ForwardPart::ForwardPart(const ForwardCall& whole, const Part& part, std::int64_t saved)
    : whole_(whole),
      part_(part),
      feed_(feed_in(whole.feed, part)),
      saved_(saved_in(whole.saved, saved, whole.feed.examples, part)) {
  std::ranges::transform(whole.inputs, inputs_.begin(),
                         [&](const ConstTensor& input) { return examples_in(input, part); });
}

ForwardCall ForwardPart::call() const {
  return {.inputs = std::span(inputs_).first(whole_.inputs.size()),
          .output = examples_in(whole_.output, part_),
          .saved = saved_,
          .scratch = scratch_of(whole_.scratch, whole_.threads, part_),
          .feed = feed_,
          .pass = whole_.pass};
}

BackwardPart::BackwardPart(const BackwardCall& whole, const Part& part, std::int64_t saved)
    : whole_(whole),
      part_(part),
      feed_(feed_in(whole.feed, part)),
      saved_(saved_in(whole.saved, saved, whole.feed.examples, part)) {
  std::ranges::transform(whole.inputs, inputs_.begin(),
                         [&](const ConstTensor& input) { return examples_in(input, part); });
  std::ranges::transform(whole.input_gradients, targets_.begin(),
                         [&](const GradientTarget& target) {
                           return GradientTarget{examples_in(target.into, part), target.write};
                         });
}

BackwardCall BackwardPart::call() const {
  return {.inputs = std::span(inputs_).first(whole_.inputs.size()),
          .output = examples_in(whole_.output, part_),
          .saved = saved_,
          .scratch = scratch_of(whole_.scratch, whole_.threads, part_),
          .output_gradient = examples_in(whole_.output_gradient, part_),
          .input_gradients = std::span(targets_).first(whole_.input_gradients.size()),
          .feed = feed_};
}

std::int64_t divided_scratch(std::int64_t whole, std::int64_t half, std::int64_t threads) {
  if (threads == 1) return whole;
  return std::max(whole, threads * round_up_to_alignment(half));
}

Shape half_of(const Shape& batch) {
  if (batch.rank() == 0) return batch;
  Shape shape{(batch[0] + 1) / 2};
  for (const std::int64_t size : batch.sizes().subspan(1)) shape.append(size);
  return shape;
}

}  // namespace trainyard::runtime

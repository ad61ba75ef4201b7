#include "runtime/net/gradient_encoder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "runtime/math/wire/bfloat16.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

GradientEncoder::GradientEncoder(Shape shape, AlignedBuffer memory)
    : shape_(std::move(shape)), memory_(std::make_shared<AlignedBuffer>(std::move(memory))) {
  const std::int64_t elements = shape_.arena_elements;
  ENSURE(shape_.wire != Wire::float32);
  ENSURE(std::ssize(memory_->span()) == push_memory_floats(shape_.wire, elements, shape_.parts));
  padding_.resize(static_cast<std::size_t>(elements / onebit_block_elements + 1));
  for (const Range& gap : shape_.gaps) {
    ENSURE(gap.begin >= 0 && gap.end <= elements);
    for (std::int64_t i = gap.begin; i < gap.end; ++i) {
      ++padding_[static_cast<std::size_t>(i / onebit_block_elements)];
    }
  }
}

void GradientEncoder::encode(std::span<const float> gradients, float residual_scale) {
  const auto elements = static_cast<std::size_t>(shape_.arena_elements);
  ENSURE(gradients.size() == elements * static_cast<std::size_t>(shape_.parts));
  if (shape_.wire == Wire::bfloat16) {
    auto* const halves = reinterpret_cast<std::uint16_t*>(memory_->data());
    return encode_bfloat16(gradients, {halves, gradients.size()});
  }
  for (std::int64_t part = 0; part < shape_.parts; ++part) {
    const auto begin = static_cast<std::size_t>(part) * elements;
    encode_part(part, gradients.subspan(begin, elements), residual_scale);
  }
}

void GradientEncoder::encode_part(std::int64_t part, std::span<const float> gradient,
                                  float residual_scale) {
  const std::span<float> residual = this->residual(part);
  auto* to = reinterpret_cast<std::uint8_t*>(memory_->data()) +
             part * encoded_bytes(Wire::onebit, shape_.arena_elements);
  for (std::size_t begin = 0; begin < gradient.size(); begin += onebit_block) {
    const std::size_t count = std::min(onebit_block, gradient.size() - begin);
    const std::size_t padding = padding_[begin / onebit_block];
    const OneBitMeans means = encode_onebit(
        gradient.subspan(begin, count), residual_scale, residual.subspan(begin, count),
        {to + 2 * float_bytes, onebit_sign_bytes(count)}, padding);
    const std::array<float, 2> head{means.positive, means.negative};
    std::memcpy(to, head.data(), sizeof head);
    to += onebit_block_bytes;
  }
  for (const Range& gap : shape_.gaps) {
    std::ranges::fill(
        residual.subspan(static_cast<std::size_t>(gap.begin), static_cast<std::size_t>(gap.size())),
        0.0F);
  }
}

Payload GradientEncoder::payload(const Share& share, WithResiduals residuals) const {
  Payload payload = push_payload(shape_.wire, memory_->span(), shape_.arena_elements, share,
                                 shape_.parts, residuals);
  payload.owner = memory_;
  return payload;
}

std::span<float> GradientEncoder::residual(std::int64_t part) {
  ENSURE(shape_.wire == Wire::onebit && part < shape_.parts);
  const auto elements = static_cast<std::size_t>(shape_.arena_elements);
  const std::size_t from_end = static_cast<std::size_t>(shape_.parts - part) * elements;
  return memory_->span().last(from_end).first(elements);
}

}  // namespace trainyard::runtime

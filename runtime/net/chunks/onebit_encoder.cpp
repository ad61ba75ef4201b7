#include "runtime/net/chunks/onebit_encoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/net/wire_format.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t block_elements = onebit_block_elements;

}  // namespace

OneBitEncoder::OneBitEncoder(Shape shape)
    : shape_(std::move(shape)),
      elements_(std::min(shape_.elements, shape_.state_begin)),
      part_bytes_(encoded_bytes(
          {.wire = Wire::onebit, .elements = shape_.elements, .state_begin = shape_.state_begin})),
      padding_(index_of(elements_ / block_elements + 1)),
      residuals_(index_of(elements_ * shape_.parts)) {
  for (const Range& gap : shape_.gaps) {
    ENSURE(gap.begin >= 0 && gap.end <= shape_.elements);
    const std::int64_t end = std::min(gap.end, elements_);
    for (std::int64_t i = gap.begin; i < end; ++i) ++padding_[index_of(i / block_elements)];
  }
}

std::int64_t OneBitEncoder::final_from(const Range& range) {
  return range.begin / block_elements * block_elements;
}

bool OneBitEncoder::encode(const Range& range, std::span<const float> gradients,
                           std::span<std::byte> encoded) {
  ENSURE(range.end <= elements_);
  const bool ends_arena = range.end == elements_;
  const std::int64_t first = range.begin / block_elements;
  const std::int64_t last = (range.end + (ends_arena ? block_elements - 1 : 0)) / block_elements;
  if (first >= last) return true;
  const Range whole{first * block_elements, std::min(last * block_elements, elements_)};
  bool is_finite = true;
  for (std::int64_t part = 0; part < shape_.parts; ++part) {
    for (std::int64_t block = first; block < last; ++block) {
      is_finite = encode_block(part, block, gradients, encoded) && is_finite;
    }
    clear_gaps(part, whole);
  }
  return is_finite;
}

bool OneBitEncoder::encode_block(std::int64_t part, std::int64_t block,
                                 std::span<const float> gradients, std::span<std::byte> encoded) {
  const std::int64_t begin = block * block_elements;
  const std::size_t count = index_of(std::min(block_elements, elements_ - begin));
  const std::size_t at = index_of(part * shape_.elements + begin);
  const auto to = encoded.subspan(index_of(part * part_bytes_ + block * onebit_block_bytes));
  auto* const signs = reinterpret_cast<std::uint8_t*>(to.data()) + 2 * float_bytes;
  const OneBitMeans means = encode_onebit(
      gradients.subspan(at, count), residual_scale_, residual(part).subspan(index_of(begin), count),
      {signs, onebit_sign_bytes(count)}, padding_[index_of(block)]);
  const std::array<float, 2> head{means.positive, means.negative};
  std::memcpy(to.data(), head.data(), sizeof head);
  return std::isfinite(means.positive) && std::isfinite(means.negative);
}

void OneBitEncoder::clear_gaps(std::int64_t part, const Range& range) {
  const std::span<float> residual = this->residual(part);
  auto gap = std::ranges::partition_point(
      shape_.gaps, [&](const Range& each) { return each.end <= range.begin; });
  for (; gap != shape_.gaps.end() && gap->begin < range.end; ++gap) {
    const std::int64_t begin = std::max(gap->begin, range.begin);
    const std::int64_t end = std::min(gap->end, range.end);
    std::ranges::fill(residual.subspan(index_of(begin), index_of(end - begin)), 0.0F);
  }
}

std::int64_t OneBitEncoder::residual_floats(const Range& range) const {
  return range.begin < elements_ ? shape_.parts * range.size() : 0;
}

void OneBitEncoder::copy_residual(const Range& range, std::span<float> out) {
  ENSURE(std::ssize(out) == residual_floats(range));
  if (out.empty()) return;
  const auto count = index_of(range.size());
  for (std::int64_t part = 0; part < shape_.parts; ++part) {
    std::ranges::copy(residual(part).subspan(index_of(range.begin), count),
                      out.subspan(index_of(part) * count).begin());
  }
}

void OneBitEncoder::restore_residual(const Range& range, std::span<const float> values) {
  ENSURE(std::ssize(values) == residual_floats(range));
  if (values.empty()) return;
  const auto count = index_of(range.size());
  for (std::int64_t part = 0; part < shape_.parts; ++part) {
    std::ranges::copy(values.subspan(index_of(part) * count, count),
                      residual(part).subspan(index_of(range.begin)).begin());
  }
}

std::span<float> OneBitEncoder::residual(std::int64_t part) {
  ENSURE(part < shape_.parts);
  return residuals_.span().subspan(index_of(part * elements_), index_of(elements_));
}

}  // namespace trainyard::runtime

#include "runtime/net/chunks/worker_arenas.h"

#include <utility>

#include "runtime/math/wire/bfloat16.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

WorkerArenas::WorkerArenas(Rules rules)
    : rules_(std::move(rules)),
      chunks_of_(chunks_by_holder(rules_.chunks, rules_.holders)),
      number_in_share_(rules_.chunks.size()),
      elements_(rules_.chunks.empty() ? 0 : rules_.chunks.back().range.end),
      parameters_(index_of(elements_)),
      gradient_(index_of(elements_ * rules_.parts)),
      encoded_(rules_.push == Wire::bfloat16 ? gradient_.size() : 0) {
  ENSURE(!rules_.chunks.empty());
  ENSURE(rules_.push != Wire::onebit && rules_.pull != Wire::onebit);
  for (const auto& chunks : chunks_of_) {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      number_in_share_[index_of(chunks[i])] = static_cast<std::uint32_t>(i);
    }
  }
}

std::uint32_t WorkerArenas::number_in_share(std::int64_t chunk) const {
  return number_in_share_.at(index_of(chunk));
}

const Range& WorkerArenas::range_of(std::int64_t chunk) const {
  return rules_.chunks.at(index_of(chunk)).range;
}

void WorkerArenas::encode(std::int64_t chunk) {
  if (rules_.push != Wire::bfloat16) return;
  const Range& range = range_of(chunk);
  for (std::int64_t part = 0; part < rules_.parts; ++part) {
    const auto begin = index_of(part * elements_ + range.begin);
    const auto count = index_of(range.size());
    encode_bfloat16(gradient_.span().subspan(begin, count),
                    std::span(encoded_).subspan(begin, count));
  }
}

std::vector<std::span<const std::byte>> WorkerArenas::gradient_of(std::int64_t chunk) const {
  const Range& range = range_of(chunk);
  std::vector<std::span<const std::byte>> pieces;
  for (std::int64_t part = 0; part < rules_.parts; ++part) {
    const auto begin = index_of(part * elements_ + range.begin);
    const auto count = index_of(range.size());
    pieces.push_back(rules_.push == Wire::bfloat16
                         ? std::as_bytes(std::span(encoded_).subspan(begin, count))
                         : std::as_bytes(gradient_.span().subspan(begin, count)));
  }
  return pieces;
}

std::size_t WorkerArenas::parameter_bytes(std::int64_t chunk) const {
  const std::size_t each = rules_.pull == Wire::bfloat16 ? sizeof(std::uint16_t) : sizeof(float);
  return index_of(range_of(chunk).size()) * each;
}

std::span<std::byte> WorkerArenas::parameter_place(std::int64_t chunk) {
  if (rules_.pull == Wire::bfloat16) return {};
  const Range& range = range_of(chunk);
  return std::as_writable_bytes(
      parameters_.span().subspan(index_of(range.begin), index_of(range.size())));
}

void WorkerArenas::decode(std::int64_t chunk, std::span<const float> landing) {
  if (rules_.pull != Wire::bfloat16) return;
  const Range& range = range_of(chunk);
  const auto* const halves = reinterpret_cast<const std::uint16_t*>(landing.data());
  decode_bfloat16({halves, index_of(range.size())},
                  parameters_.span().subspan(index_of(range.begin), index_of(range.size())));
}

}  // namespace trainyard::runtime

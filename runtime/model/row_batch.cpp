#include "runtime/model/row_batch.h"

#include <array>
#include <utility>

namespace trainyard::runtime {
namespace {

constexpr int digit_bits = 11;  // three passes over an id's 31 bits, 2048 counters each
constexpr std::size_t digits = std::size_t{1} << digit_bits;

// By the upper half of the keys, stable: a radix sort, several times faster than comparing.
void sort_by_id(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& spare) {
  spare.resize(keys.size());
  for (int shift = 32; shift < 64; shift += digit_bits) {
    std::array<std::size_t, digits> begin{};
    for (const std::uint64_t key : keys) ++begin[(key >> shift) % digits];
    std::size_t sum = 0;
    for (std::size_t& count : begin) sum += std::exchange(count, sum);
    for (const std::uint64_t key : keys) spare[begin[(key >> shift) % digits]++] = key;
    keys.swap(spare);
  }
}

}  // namespace

void RowBatch::assign(const SparseRows& x) {
  pooled_.reset();
  order_.resize(x.columns.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    order_[i] = static_cast<std::uint64_t>(x.columns[i]) << 32 | i;
  }
  sort_by_id(order_, spare_);
  ids_.clear();
  places_.resize(x.columns.size());
  for (const std::uint64_t key : order_) {
    const auto id = static_cast<std::int64_t>(key >> 32);
    if (ids_.empty() || ids_.back() != id) ids_.push_back(id);
    places_[static_cast<std::uint32_t>(key)] = static_cast<std::int32_t>(ids_.size()) - 1;
  }
  rows_.resize(ids_.size() * static_cast<std::size_t>(width_));
}

}  // namespace trainyard::runtime

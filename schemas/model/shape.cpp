#include "schemas/model/shape.h"

#include <algorithm>
#include <cstddef>

#include "schemas/base/check.h"

namespace trainyard::model {
namespace {

std::string joined(const Sizes& sizes, std::string_view between) {
  std::string text;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) text += between;
    text += is_known(sizes[i]) ? std::to_string(sizes[i]) : "?";
  }
  return text;
}

}  // namespace

Count times(Count left, Count right) {
  if (!left || !right) return std::nullopt;
  std::int64_t product = 0;
  if (__builtin_mul_overflow(*left, *right, &product)) return count_max;
  return std::min(product, count_max);
}

Count plus(Count left, Count right) {
  if (!left || !right) return std::nullopt;
  return std::min(*left + *right, count_max);  // both at most 2^62: no overflow
}

Count elements(const Sizes& sizes) {
  Count product = 1;
  for (const std::int64_t size : sizes) product = times(product, known(size));
  return product;
}

Count elements(const MaybeShape& shape) { return shape ? elements(*shape) : std::nullopt; }

std::string to_text(const Sizes& sizes) {
  std::string text(1, '[');
  text += joined(sizes, ", ");
  text += ']';
  return text;
}

std::string to_text(const MaybeShape& shape) { return shape ? to_text(*shape) : "[...]"; }

std::string by_text(const Sizes& sizes) { return joined(sizes, " x "); }

bool may_be_equal(std::int64_t left, std::int64_t right) {
  return left == right || !is_known(left) || !is_known(right);
}

bool may_be_equal(const MaybeShape& left, const MaybeShape& right) {
  if (!left || !right) return true;
  return std::ranges::equal(
      *left, *right, [](std::int64_t one, std::int64_t other) { return may_be_equal(one, other); });
}

std::int64_t merged_size(std::int64_t left, std::int64_t right) { return std::max(left, right); }

MaybeShape merged(const MaybeShape& left, const MaybeShape& right) {
  ENSURE(may_be_equal(left, right));
  if (!left) return right;
  if (!right) return left;
  Sizes sizes = *left;
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = merged_size(sizes[i], (*right)[i]);
  return sizes;
}

}  // namespace trainyard::model

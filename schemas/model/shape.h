// Arithmetic with sizes of which some are not known, and which an attacker may have chosen: nothing
// here overflows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/model/facts.h"

namespace trainyard::model {

// Numbers in one value or variable. A float each, so 4 TiB: no machine has it, and a product of
// two such counts still fits into a double's whole numbers twice over.
inline constexpr std::int64_t elements_max = std::int64_t{1} << 40;
// Counts beyond it say this.
inline constexpr std::int64_t count_max = std::int64_t{1} << 62;

// How many; nothing: not known.
using Count = std::optional<std::int64_t>;

inline bool is_known(std::int64_t size) { return size != unknown_size; }
inline Count known(std::int64_t size) { return is_known(size) ? Count(size) : std::nullopt; }
inline std::int64_t size_or_unknown(Count count) { return count.value_or(unknown_size); }

// For counts of zero or more: of something unknown unknown, else at most count_max.
Count times(Count left, Count right);
Count plus(Count left, Count right);

Count elements(const Sizes& sizes);
Count elements(const MaybeShape& shape);

// "[28, 28, 64]"; what is not known is "?".
std::string to_text(const Sizes& sizes);
std::string to_text(const MaybeShape& shape);
// "5 x 5 x 16", as people say sizes of an image.
std::string by_text(const Sizes& sizes);

// Whether they may be the same, for all that is known.
bool may_be_equal(std::int64_t left, std::int64_t right);
bool may_be_equal(const MaybeShape& left, const MaybeShape& right);
// What is known from either; they may be equal.
std::int64_t merged_size(std::int64_t left, std::int64_t right);
MaybeShape merged(const MaybeShape& left, const MaybeShape& right);

}  // namespace trainyard::model

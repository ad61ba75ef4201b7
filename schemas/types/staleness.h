// How stale updates of asynchronous training were, in ranges: how many other updates were made
// between the parameters that a gradient was computed from and its own update. The chief reports
// for each range how many there were in its attempt so far, as the metric staleness_updates_<name>.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace trainyard {

struct StalenessRange {
  std::string_view name;
  std::int64_t last = 0;  // the largest that belongs to it; -1: it has no end
};

// 0, 1, 2, 3, then each twice as wide as the one before.
inline constexpr std::array<StalenessRange, 9> staleness_ranges{{{"0", 0},
                                                                 {"1", 1},
                                                                 {"2", 2},
                                                                 {"3", 3},
                                                                 {"4_to_7", 7},
                                                                 {"8_to_15", 15},
                                                                 {"16_to_31", 31},
                                                                 {"32_to_63", 63},
                                                                 {"64_and_more", -1}}};

inline constexpr std::string_view staleness_metric_prefix = "staleness_updates_";

}  // namespace trainyard

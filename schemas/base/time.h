// Time as values; no clock is read here. `Time` is steady and decides; `WallTime` is stamped at the
// edge, stored and shown, never compared to decide anything.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace trainyard {

struct Millis {
  std::int64_t count = 0;
  auto operator<=>(const Millis&) const = default;
};
constexpr Millis operator+(Millis a, Millis b) { return {a.count + b.count}; }
constexpr Millis operator-(Millis a, Millis b) { return {a.count - b.count}; }
constexpr Millis operator*(Millis a, std::int64_t factor) { return {a.count * factor}; }
constexpr Millis seconds(std::int64_t count) { return {count * 1000}; }

// Milliseconds on the process's own steady clock; the zero point means nothing.
struct Time {
  std::int64_t millis = 0;
  auto operator<=>(const Time&) const = default;
};
constexpr Time operator+(Time t, Millis d) { return {t.millis + d.count}; }
constexpr Time operator-(Time t, Millis d) { return {t.millis - d.count}; }
constexpr Millis operator-(Time a, Time b) { return {a.millis - b.millis}; }

// Milliseconds since 1970-01-01T00:00:00Z. Zero means "not set".
struct WallTime {
  std::int64_t unix_millis = 0;
  [[nodiscard]] bool is_set() const { return unix_millis != 0; }
  auto operator<=>(const WallTime&) const = default;
};
constexpr Millis operator-(WallTime a, WallTime b) { return {a.unix_millis - b.unix_millis}; }
constexpr WallTime operator+(WallTime t, Millis d) { return {t.unix_millis + d.count}; }

// Both clocks, read once at the edge for each event.
struct Now {
  Time steady;
  WallTime wall;
};

std::string to_rfc3339(WallTime time);  // "2026-11-20T19:40:00.123Z"; "" when not set

}  // namespace trainyard

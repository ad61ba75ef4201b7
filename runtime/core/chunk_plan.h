// Which ps holds which part of the arena: a pure function of the arena's size and the number of ps,
// so that every task computes it for itself. The arena is cut into chunks without regard to
// variables (a variable of 400 MB must not sit on one ps), and chunks go round the ps so that a
// layer's traffic uses all links at once.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::runtime {

constexpr std::int64_t float_bytes = sizeof(float);  // of an element of the arena

// Elements of the arena, end exclusive.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// What one ps holds: ranges in ascending order, never adjacent. A frame carries them one after
// another.
struct Share {
  std::vector<Range> ranges;
  [[nodiscard]] std::int64_t elements() const;
  bool operator==(const Share&) const = default;
};

// Behind what the share has, as one range with it where they meet.
void append_range(Share& share, Range range);

// At most clamp(bytes / (16 * ps), 64 KiB, 1 MiB), in elements: small enough that a layer's traffic
// is spread, large enough to be worth a range. All chunks are equal and their number is a multiple
// of the ps', up to cache lines at the end: so is the balance.
std::int64_t chunk_elements(std::int64_t arena_elements, std::int64_t ps_count);

// One share for each ps: largest chunks first, each to the ps with the earliest finish. (R. L.
// Graham, Bounds on Multiprocessing Timing Anomalies, 1969; all ps of a job are asked to be of one
// size, so the earliest finish is the lightest load.) Together they cover the arena once; with few
// elements some are empty.
std::vector<Share> plan_shares(std::int64_t arena_elements, std::int64_t ps_count);

}  // namespace trainyard::runtime

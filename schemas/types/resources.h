// What a task asks for and what a host has: whole cpus, mebibytes of memory, GPU slots.
#pragma once

#include <compare>
#include <cstdint>

namespace trainyard {

struct Resources {
  std::int64_t cpus = 0;
  std::int64_t memory_mb = 0;
  std::int64_t gpus = 0;
  bool operator==(const Resources&) const = default;
};

constexpr bool fits(const Resources& wanted, const Resources& free) {
  return wanted.cpus <= free.cpus && wanted.memory_mb <= free.memory_mb && wanted.gpus <= free.gpus;
}
constexpr Resources operator+(const Resources& a, const Resources& b) {
  return {a.cpus + b.cpus, a.memory_mb + b.memory_mb, a.gpus + b.gpus};
}
constexpr Resources operator-(const Resources& a, const Resources& b) {
  return {a.cpus - b.cpus, a.memory_mb - b.memory_mb, a.gpus - b.gpus};
}

}  // namespace trainyard

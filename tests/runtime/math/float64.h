// What references of tests compute in, and how a gradient is compared with differences.
#pragma once

#include <span>
#include <vector>

namespace trainyard::runtime {

inline double wide(float value) { return static_cast<double>(value); }

inline std::vector<float> rounded(std::span<const double> values) {
  std::vector<float> result;
  for (const double value : values) result.push_back(static_cast<float>(value));
  return result;
}

inline double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += wide(a[i]) * wide(b[i]);
  return sum;
}

inline std::vector<float> moved(std::span<const float> from, std::span<const float> along,
                                double distance) {
  std::vector<float> result;
  for (std::size_t i = 0; i < from.size(); ++i) {
    result.push_back(static_cast<float>(wide(from[i]) + distance * wide(along[i])));
  }
  return result;
}

}  // namespace trainyard::runtime

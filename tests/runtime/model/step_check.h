// Gradients of a training step against those that a script of tests/golden describes: numbers that
// both make of a hash of their place, norms, and products with patterns.
#pragma once

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "runtime/core/variable.h"

namespace trainyard::runtime {

// In [-0.5, 0.5), as the script has it.
inline double hashed(std::uint64_t index, std::uint64_t stream) {
  std::uint64_t bits = (index * 2654435761U + stream * 40503 + 12345) & 0xFFFFFFFFU;
  bits ^= bits >> 15U;
  bits = (bits * 2246822519U) & 0xFFFFFFFFU;
  bits ^= bits >> 13U;
  return static_cast<double>(bits) / 4294967296.0 - 0.5;
}

struct Yardstick {
  double norm = 0;  // of a variable's gradient, as they are for the most
  std::uint64_t number = 0;
};

inline double usual_norm(const nlohmann::json& gradients) {
  double squares = 0;
  for (const auto& gradient : gradients) squares += std::pow(gradient["norm"].get<double>(), 2);
  return std::sqrt(squares / static_cast<double>(gradients.size()));
}

// An error of 1e-5 of the gradient shows in its products with three patterns. A bias before a batch
// norm has a gradient of zero, and what rounding leaves of it: so there is a least margin.
inline void check_gradient(const nlohmann::json& reference, const Variable& variable,
                           std::span<const float> gradient, const Yardstick& by) {
  INFO(variable.name);
  REQUIRE(reference["elements"] == variable.elements);
  const double margin = 1e-5 * std::max(reference["norm"].get<double>(), by.norm);
  double squares = 0;
  std::array<double, 3> products{};
  for (std::uint64_t i = 0; i < gradient.size(); ++i) {
    const auto value = static_cast<double>(gradient[i]);
    squares += value * value;
    for (std::uint64_t p = 0; p < 3; ++p)
      products[p] += value * hashed(i, 1000 + 3 * by.number + p);
  }
  CHECK(std::sqrt(squares) == Approx(reference["norm"].get<double>()).margin(margin));
  for (std::size_t p = 0; p < 3; ++p) {
    CHECK(products[p] == Approx(reference["products"][p].get<double>()).margin(margin));
  }
  const std::size_t every = reference["every"];
  for (std::size_t i = 0; i < reference["samples"].size(); ++i) {
    CHECK(static_cast<double>(gradient[i * every]) ==
          Approx(reference["samples"][i].get<double>()).margin(margin));
  }
}

}  // namespace trainyard::runtime

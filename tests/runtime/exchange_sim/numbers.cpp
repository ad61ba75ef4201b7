// The arithmetic of the simulation.
#include <numeric>

#include "tests/runtime/exchange_sim/sim_server.h"

namespace trainyard::runtime::exchange_sim {

// SplitMix64's finalizer (G. L. Steele et al., Fast Splittable Pseudorandom Number Generators,
// 2014).
Number mix(Number a, Number b) {
  Number z = a * 0x9e3779b97f4a7c15U + b + 0x632be59bd9b4e019U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

Number first_weights(std::int64_t chunk) { return mix(7, static_cast<Number>(chunk)); }

Number gradient_of(std::int64_t rank, std::int64_t step, std::int64_t chunk, Number forward) {
  return mix(mix(static_cast<Number>(rank), static_cast<Number>(step)),
             mix(static_cast<Number>(chunk), forward));
}

std::vector<std::vector<Number>> expected(
    const Scene& scene, const std::map<std::int64_t, std::vector<std::int64_t>>& named) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(scene.ranks));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<Number>> versions(1);
  for (std::int64_t chunk = 0; chunk < scene.chunks; ++chunk) {
    versions[0].push_back(first_weights(chunk));
  }
  for (std::int64_t step = 1; step <= scene.max_steps; ++step) {
    std::vector<Number> weights = versions.back();
    Number forward = 0;
    for (const Number each : weights) forward = mix(forward, each);
    double squares = 0;
    for (std::int64_t chunk = 0; chunk < scene.chunks; ++chunk) {
      for (const std::int64_t rank : named.empty() ? all : named.at(step)) {
        Number& value = weights[static_cast<std::size_t>(chunk)];
        const Number gradient = gradient_of(rank, step, chunk, forward);
        value = mix(value, gradient);
        squares += squares_of(gradient);
      }
    }
    for (Number& value : weights) {
      if (scene.clips) value = mix(value, static_cast<Number>(squares));
    }
    versions.push_back(weights);
  }
  return versions;
}

}  // namespace trainyard::runtime::exchange_sim

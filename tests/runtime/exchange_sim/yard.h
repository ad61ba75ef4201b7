// N workers and P parameter servers of the classes that ship, over links that delay, cut and lose
// what is under way, with workers that die at any moment. What is a float in the product is a
// number here that tells all that went into it, so one wrong or missing addend changes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/types/job_spec.h"

namespace trainyard::runtime::exchange_sim {

using Number = std::uint64_t;
Number mix(Number a, Number b);
Number first_weights(std::int64_t chunk);
// `forward`: of all the weights that the step began with.
Number gradient_of(std::int64_t rank, std::int64_t step, std::int64_t chunk, Number forward);

struct Scene {
  Mode mode = Mode::sync;
  std::int64_t ranks = 2;
  std::int64_t servers = 2;
  std::int64_t chunks = 5;
  std::int64_t max_steps = 6;
  std::optional<std::int64_t> max_staleness = {};
  std::int64_t aggregate = 0;  // with backup workers: so many make a step
  std::int64_t slow = -1;      // this rank does little
  bool slow_ways = false;      // between that rank and all servers all takes long
  std::int64_t absent = -1;    // this rank comes when all others have ended
  bool shares = false;         // servers write to where workers read, before they say so
  bool clips = false;          // sync: by the norm of the whole gradient
  int cuts = 3;                // at most
  int deaths = 2;              // of workers, at most
  int snapshots = 2;           // that are asked for, at most
  std::uint64_t seed = 1;
};

// Of a chunk: its weights, and what went into them.
struct Value {
  Number weights = 0;
  std::vector<std::int64_t> pushes;  // by rank: how many
  bool operator==(const Value&) const = default;
};

struct Outcome {
  // With backup workers: which ranks made a step; which steps each rank had a gradient of that was
  // left out, and how many of those ps 0 has counted.
  std::map<std::int64_t, std::vector<std::int64_t>> named;
  std::vector<std::int64_t> snapshots_named;
  std::vector<std::int64_t> left_out;
  std::vector<std::int64_t> counted;
  std::string fault;                                     // "": none
  std::vector<Value> end;                                // by chunk
  std::map<std::int64_t, std::vector<Value>> snapshots;  // that are whole: by name, by chunk
};

// One history, to its end or its first fault.
Outcome play(const Scene& scene);

// Sync: by version, by chunk, as one process would make them; `named`: of these ranks in each step,
// or, where there are none, of all.
std::vector<std::vector<Number>> expected(
    const Scene& scene, const std::map<std::int64_t, std::vector<std::int64_t>>& named = {});

}  // namespace trainyard::runtime::exchange_sim

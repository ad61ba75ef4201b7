// A ps and workers of the exchange by chunks, each in a process of its own: the large MLP, sgd,
// sync.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schemas/types/job_spec.h"
#include "tests/bench/self_process.h"
#include "tests/bench/training_run.h"

namespace trainyard::bench {

struct ChunkRun {
  ModelSpec model;
  std::int64_t batch_size = 1;
  std::int64_t steps = 1;
  Wire wire = Wire::float32;  // of pushes and pulls
  std::int64_t chunk_kib = 256;
};

// Global steps per second of one ps and these workers, without the first few.
double chunk_steps_per_second(const ChunkRun& run, const Seat& ps,
                              const std::vector<Seat>& workers);

// What those processes do. The ps prints its port and serves until standard input ends; a worker
// prints its rate. An exit code.
int run_chunk_process(const std::vector<std::string>& arguments);

}  // namespace trainyard::bench

// Whole models and batches by chance, for what trains them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "schemas/model/written.h"

namespace trainyard::runtime {

struct Trained {
  std::string name;
  model::Written written;
  DataShape data;
  std::int64_t examples = 0;
  double learning_rate = 0;
};

std::vector<Trained> networks();

// Of a step, with so many examples; the same bytes for the same step.
Batch batch_of(const Trained& of, int step);

}  // namespace trainyard::runtime

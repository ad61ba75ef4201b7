// Where a step stopped being a number. A step is deterministic: it is computed once more, and every
// value is looked at.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/data/dataset.h"
#include "runtime/model/row_batch.h"
#include "schemas/model/written.h"

namespace trainyard::runtime {

struct LostStep {
  const model::Written& model;  // one that was built on this data
  const DataShape& data;
  std::uint64_t seed = 0;
  std::span<const float> parameters;  // those of the step
  const Batch& batch;
  RowBatch* rows = nullptr;  // of a model with a table
};

// A sentence: the first of the parameters, else the first layer in forward order, else the first
// variable in backward order, whose numbers are not all finite, and the largest magnitude that
// went in. "" where all of it is finite. Costs a model's memory and one step.
std::string first_not_finite(const LostStep& step);

}  // namespace trainyard::runtime

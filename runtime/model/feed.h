// A batch as a graph reads it.
#pragma once

#include <cstdint>

#include "runtime/data/dataset.h"
#include "runtime/graph/kernels.h"
#include "runtime/model/row_batch.h"

namespace trainyard::runtime {

// `rows`: of a model with a table; `seed`: of what is drawn in training.
inline Feed feed_of(const Batch& batch, RowBatch* rows, std::uint64_t seed) {
  return {.examples = batch.examples,
          .features = batch.features,
          .labels = batch.labels,
          .targets = batch.targets,
          .sparse = batch.sparse.view(),
          .rows = rows == nullptr ? std::span<const RowFeed>{} : rows->feeds(),
          .seed = seed,
          .first_position = batch.first_position,
          .ids = batch.ids,
          .lengths = batch.lengths,
          .token_labels = batch.token_labels,
          .symbols = batch.symbols,
          .symbol_offsets = batch.symbol_offsets};
}

}  // namespace trainyard::runtime

#include "runtime/math/ops/embedding.h"

#include <algorithm>

#include "runtime/math/ops/scratch.h"
#include "runtime/math/rows/id_order.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

struct EmbeddingKeys {
  std::span<std::uint64_t> keys;
  std::span<std::uint64_t> spare;
};

EmbeddingKeys cut_keys(Scratch& scratch, std::int64_t ids) {
  return {.keys = scratch.take<std::uint64_t>(ids), .spare = scratch.take<std::uint64_t>(ids)};
}

}  // namespace

void embed(ConstTensor table, std::span<const std::int32_t> ids, Tensor y) {
  const std::int64_t size = table.shape.columns();
  ENSURE(y.elements() == std::ssize(ids) * size);
  float* to = y.data;
  for (const std::int32_t id : ids) {
    // The data set has refused others.
    ENSURE(id >= 0 && id < table.shape.rows());
    std::copy_n(table.data + id * size, size, to);
    to += size;
  }
}

std::size_t embed_gradient_bytes(std::int64_t ids) {
  Scratch scratch;
  cut_keys(scratch, ids);
  return scratch.used_bytes();
}

void embed_gradient(std::span<const std::int32_t> ids, ConstTensor y_gradient,
                    Tensor table_gradient, Write write, std::span<std::byte> scratch) {
  const std::int64_t size = table_gradient.shape.columns();
  ENSURE(y_gradient.elements() == std::ssize(ids) * size);
  if (write == Write::overwrite) std::ranges::fill(table_gradient.span(), 0.0F);
  Scratch memory(scratch);
  const EmbeddingKeys cuts = cut_keys(memory, std::ssize(ids));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    cuts.keys[i] = id_key(ids[i], static_cast<std::uint32_t>(i));
  }
  for (const std::uint64_t key : sort_by_id(cuts.keys, cuts.spare)) {
    float* const to = table_gradient.data + id_of(key) * size;
    const float* const from = y_gradient.data + static_cast<std::int64_t>(position_of(key)) * size;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < size; ++i) to[i] += from[i];
  }
}

}  // namespace trainyard::runtime

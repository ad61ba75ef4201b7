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

Items rows_of_ids(std::int64_t ids, std::int64_t size) {
  return {.count = ids, .nanoseconds_each = 5 + 0.3 * static_cast<double>(size)};
}

// From `at` on, the first key with another id than the one before it: all of an id are one
// thread's.
std::int64_t first_of_its_id(std::span<const std::uint64_t> keys, std::int64_t at) {
  const auto id_at = [&](std::int64_t i) { return id_of(keys[static_cast<std::size_t>(i)]); };
  while (at > 0 && at < std::ssize(keys) && id_at(at) == id_at(at - 1)) ++at;
  return at;
}

}  // namespace

void embed(ConstTensor table, std::span<const std::int32_t> ids, Tensor y, const Threads& threads) {
  const std::int64_t size = table.shape.columns();
  ENSURE(y.elements() == std::ssize(ids) * size);
  threads.split(rows_of_ids(std::ssize(ids), size), [&](const Part& part) {
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const std::int64_t id = ids[static_cast<std::size_t>(i)];
      // The data set has refused others.
      ENSURE(id >= 0 && id < table.shape.rows());
      std::copy_n(table.data + id * size, size, y.data + i * size);
    }
  });
}

std::size_t embed_gradient_bytes(std::int64_t ids) {
  Scratch scratch;
  cut_keys(scratch, ids);
  return scratch.used_bytes();
}

void embed_gradient(std::span<const std::int32_t> ids, ConstTensor y_gradient,
                    Tensor table_gradient, Write write, std::span<std::byte> scratch,
                    const Threads& threads) {
  const std::int64_t size = table_gradient.shape.columns();
  ENSURE(y_gradient.elements() == std::ssize(ids) * size);
  if (write == Write::overwrite) std::ranges::fill(table_gradient.span(), 0.0F);
  Scratch memory(scratch);
  const EmbeddingKeys cuts = cut_keys(memory, std::ssize(ids));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    cuts.keys[i] = id_key(ids[i], static_cast<std::uint32_t>(i));
  }
  const auto keys = sort_by_id(cuts.keys, cuts.spare);
  threads.split(rows_of_ids(std::ssize(keys), size), [&](const Part& part) {
    const auto end = first_of_its_id(keys, part.end);
    for (auto at = first_of_its_id(keys, part.begin); at < end; ++at) {
      const std::uint64_t key = keys[static_cast<std::size_t>(at)];
      float* const to = table_gradient.data + id_of(key) * size;
      const float* const from =
          y_gradient.data + static_cast<std::int64_t>(position_of(key)) * size;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < size; ++i) to[i] += from[i];
    }
  });
}

}  // namespace trainyard::runtime

#include "runtime/math/ops/embedding.h"

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/rows/id_order.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime::embedding_tests {
namespace {

std::vector<float> gradient_of(const std::vector<std::int32_t>& ids,
                               const std::vector<float>& upstream, const Shape& table, Write write,
                               float before) {
  std::vector<float> gradient(static_cast<std::size_t>(table.elements()), before);
  AlignedBuffer scratch(embed_gradient_bytes(std::ssize(ids)) / sizeof(float));
  embed_gradient(ids, tensor_of(upstream, {std::ssize(ids), table[1]}), tensor_of(gradient, table),
                 write, std::as_writable_bytes(scratch.span()));
  return gradient;
}

}  // namespace

TEST_CASE("an embedding is the rows of its ids", "[embedding]") {
  const std::vector<float> table{1, 2, 3, 4, 5, 6};
  std::vector<float> y(8);
  embed(tensor_of(table, {3, 2}), std::vector<std::int32_t>{2, 0, 0, 1}, tensor_of(y, {2, 2, 2}));
  REQUIRE(y == std::vector<float>{5, 6, 1, 2, 1, 2, 3, 4});
}

TEST_CASE("an embedding's gradient is added up one position after another", "[embedding]") {
  const Shape table{70'000, 3};  // ids of more than one digit of the sort
  constexpr std::size_t count = 500;
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::int32_t>(i * 7919 % 13 * 5381));
  }
  const std::vector<float> upstream = random_floats(count * 3, 2);
  for (const Write write : {Write::overwrite, Write::add}) {
    std::vector<float> expected(static_cast<std::size_t>(table.elements()),
                                write == Write::add ? 0.25F : 0.0F);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        expected[static_cast<std::size_t>(ids[i]) * 3 + j] += upstream[3 * i + j];
      }
    }
    require_same_bits(gradient_of(ids, upstream, table, write, 0.25F), expected);
  }
}

TEST_CASE("positions are sorted by their ids, those of one id as they stood", "[embedding]") {
  const std::vector<std::int32_t> ids{5, 2'000'000'000, 0, 5, 2048, 0, 2'147'483'647};
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    keys.push_back(id_key(ids[i], static_cast<std::uint32_t>(i)));
  }
  std::vector<std::uint64_t> spare(keys.size());
  std::vector<std::uint32_t> positions;
  for (const std::uint64_t key : sort_by_id(keys, spare)) {
    positions.push_back(position_of(key));
    REQUIRE(id_of(key) == ids[position_of(key)]);
  }
  REQUIRE(positions == std::vector<std::uint32_t>{2, 5, 0, 3, 4, 1, 6});
}

}  // namespace trainyard::runtime::embedding_tests

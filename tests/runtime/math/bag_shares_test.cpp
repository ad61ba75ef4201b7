#include "runtime/math/rows/bag_shares.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <tuple>

#include "runtime/core/row_layout.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t width = 17;

// Examples that share the first few ids, and have others alone.
struct Batch {
  SparseRows x{.offsets = {0}, .columns = {}, .values = {}};  // columns are places in ids
  std::vector<std::int64_t> ids;

  explicit Batch(std::int64_t examples, std::int64_t own, std::int64_t shared) {
    for (std::int64_t i = 0; i < shared + own * examples; ++i) ids.push_back(3 * i + 1);
    for (std::int64_t example = 0; example < examples; ++example) {
      for (std::int64_t i = 0; i < shared; ++i) x.columns.push_back(static_cast<std::int32_t>(i));
      for (std::int64_t i = 0; i < own; ++i) {
        x.columns.push_back(static_cast<std::int32_t>(shared + example * own + i));
      }
      x.offsets.push_back(std::ssize(x.columns));
    }
    x.offsets.push_back(x.offsets.back());  // and one without ids
    for (std::size_t i = 0; i < x.columns.size(); ++i) {
      x.values.push_back(0.5F + static_cast<float>(i % 7));
    }
  }
  [[nodiscard]] BagView view() const { return {ids, x.view(), x.columns}; }
};

// What a ps answers: rows or sums.
std::vector<float> answer_of(const BagShare& share, const Batch& batch,
                             const std::vector<float>& table) {
  std::vector<float> rows;
  for (const std::int64_t id : share.ids) {
    const auto at = std::ranges::lower_bound(batch.ids, id) - batch.ids.begin();
    rows.insert(rows.end(), table.begin() + at * width, table.begin() + (at + 1) * width);
  }
  return share.mode == RowMode::bags ? pool_bags(share.bags, rows, width) : rows;
}

}  // namespace

TEST_CASE("what all ps give of a batch are its bags, whichever way each gives it", "[rows]") {
  for (const auto& [own, shared, expected] :
       {std::tuple{20, 0, RowMode::bags}, {0, 6, RowMode::rows}, {0, 1, RowMode::rows}}) {
    for (const std::int64_t ps : {1, 2, 3}) {
      INFO(own << " own ids, " << shared << " shared ones, " << ps << " ps");
      const Batch batch(40, own, shared);
      const auto table = random_floats(batch.ids.size() * width, 3);
      const auto shares = share_bags(batch.view(), ps, width);

      std::vector<float> vectors;
      for (const BagShare& share : shares) {
        const auto answer = answer_of(share, batch, table);
        CHECK(std::ssize(answer) == share.vectors() * width);
        if (!share.ids.empty()) CHECK(share.mode == expected);
        vectors.insert(vectors.end(), answer.begin(), answer.end());
      }
      const SparseRows joined = join_bags(shares, batch.x.view().rows());
      REQUIRE(check_bags(joined, std::ssize(vectors) / width).has_value());

      const auto whole = pool_bags(batch.x, table, width);
      const auto put_together = pool_bags(joined, vectors, width);
      require_close(put_together, whole, 1e-4);
      if (ps == 1) CHECK(put_together == whole);  // the same order of additions
    }
  }
}

TEST_CASE("each ps has its own rows, and the examples that need some of them", "[rows]") {
  const Batch batch(10, 2, 1);
  const auto shares = share_bags(batch.view(), 3, width);
  std::size_t ids = 0;
  std::size_t elements = 0;
  for (std::int64_t ps = 0; ps < 3; ++ps) {
    const BagShare& share = shares[static_cast<std::size_t>(ps)];
    for (const std::int64_t id : share.ids) CHECK(owner_of_row(id, 3) == ps);
    CHECK(check_bags(share.bags, std::ssize(share.ids)).has_value());
    CHECK(share.bags.view().rows() == std::ssize(share.examples));
    ids += share.ids.size();
    elements += share.bags.columns.size();
  }
  CHECK(ids == batch.ids.size());
  CHECK(elements == batch.x.columns.size());
}

}  // namespace trainyard::runtime

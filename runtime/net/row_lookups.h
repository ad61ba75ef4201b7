// What workers have looked up in a ps' share of an embedding table, so that the gradients of these
// rows come without their ids. Only so much is kept: a worker that names what is not there sends
// the ids again.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "runtime/math/sparse_rows.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// What gradients are of: rows, or the sums of some.
struct LookedUp {
  std::vector<std::int64_t> ids;
  SparseRows bags{};  // whose columns are places in `ids`; no offsets: the rows themselves

  [[nodiscard]] bool pooled() const { return !bags.offsets.empty(); }
  [[nodiscard]] std::int64_t vectors() const {
    return pooled() ? bags.view().rows() : std::ssize(ids);
  }
  [[nodiscard]] std::int64_t size() const {
    return std::ssize(ids) + std::ssize(bags.columns) + std::ssize(bags.offsets);
  }
  bool operator==(const LookedUp&) const = default;
};

class RowLookups {
 public:
  // Of each rank as many ids, elements of bags and bags as `size_max`, in all its lookups together.
  RowLookups(std::int64_t ranks, std::int64_t size_max);

  // Keeps a lookup of ids that ascend; the rank's oldest make room for it. False where it is not
  // kept: it has no ids or too much, or it is of an earlier process of the rank, whose numbers are
  // lower. `invalid` for a rank, number or ids that cannot be.
  Result<bool> keep(std::int64_t rank, std::int64_t number, LookedUp what);

  // One part after another: part i has the ids of the counts[i] lookups that come next, from number
  // `first` on, each id once and ascending; or the bags of a single one. They and all older ones
  // are forgotten. `not_found` where one of them is not there: then nothing is.
  Result<std::vector<LookedUp>> take(std::int64_t rank, std::int64_t first,
                                     std::span<const std::int64_t> counts);

 private:
  struct Lookup {
    std::int64_t number = 0;
    LookedUp what;
  };
  struct Rank {
    std::deque<Lookup> lookups;  // by ascending number
    std::int64_t size = 0;       // of them all

    void drop_first();
  };

  [[nodiscard]] Status check(std::int64_t rank) const;

  std::vector<Rank> ranks_;
  std::int64_t size_max_;
};

}  // namespace trainyard::runtime

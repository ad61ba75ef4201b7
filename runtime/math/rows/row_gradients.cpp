#include "runtime/math/rows/row_gradients.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "runtime/core/reduction_tree.h"
#include "runtime/core/row_layout.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Reads gradients row by row.
class RowCursor {
 public:
  RowCursor(const RowGradients& of, const RowWidths& widths) : of_(of), widths_(widths) {}

  [[nodiscard]] bool at_end() const { return row_ == of_.ids.size(); }
  [[nodiscard]] std::int64_t id() const { return of_.ids[row_]; }
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(widths_.of(id())); }
  [[nodiscard]] const float* floats() const { return of_.rows.data() + float_; }
  void next() {
    float_ += width();
    ++row_;
  }

 private:
  const RowGradients& of_;
  const RowWidths& widths_;
  std::size_t row_ = 0;
  std::size_t float_ = 0;
};

void append(const RowCursor& from, RowGradients& to) {
  to.ids.push_back(from.id());
  to.rows.insert(to.rows.end(), from.floats(), from.floats() + from.width());
}

}  // namespace

Status check_rows(std::span<const std::int64_t> ids, const RowWidths& widths) {
  for (const std::int64_t id : ids) {
    if (widths.has(id)) continue;
    return invalid("row " + std::to_string(id) + " cannot be: it is of none of " +
                   std::to_string(widths.tables()) + " tables");
  }
  return ok();
}

RowGradients add_rows(const RowGradients& left, const RowGradients& right,
                      const RowWidths& widths) {
  RowGradients sum;
  sum.ids.reserve(left.ids.size() + right.ids.size());
  sum.rows.reserve(left.rows.size() + right.rows.size());
  RowCursor l(left, widths);
  RowCursor r(right, widths);
  while (!l.at_end() || !r.at_end()) {
    const bool left_is_next = r.at_end() || (!l.at_end() && l.id() <= r.id());
    RowCursor& next = left_is_next ? l : r;
    append(next, sum);
    if (left_is_next && !r.at_end() && r.id() == l.id()) {
      const std::size_t width = r.width();
      float* const to = sum.rows.data() + sum.rows.size() - width;
      for (std::size_t i = 0; i < width; ++i) to[i] += r.floats()[i];
      r.next();
    }
    next.next();
  }
  return sum;
}

std::vector<std::int64_t> add_ids(std::span<const std::int64_t> left,
                                  std::span<const std::int64_t> right) {
  std::vector<std::int64_t> sum;
  sum.reserve(left.size() + right.size());
  std::ranges::set_union(left, right, std::back_inserter(sum));
  return sum;
}

RowGradients sum_of_rows(std::vector<RowGradients> parts, std::span<const std::int64_t> order,
                         const RowWidths& widths) {
  std::vector<RowGradients> stack;
  for (const std::int64_t next : order) {
    if (next != addition) {
      stack.push_back(std::move(parts[static_cast<std::size_t>(next)]));
      continue;
    }
    ENSURE(stack.size() >= 2);
    const RowGradients right = std::move(stack.back());
    stack.pop_back();
    stack.back() = add_rows(stack.back(), right, widths);
  }
  ENSURE(stack.size() == 1);
  return std::move(stack.front());
}

std::vector<RowGradients> split_by_owner(RowGradients gradients, std::int64_t owners,
                                         const RowWidths& widths) {
  std::vector<RowGradients> shares(static_cast<std::size_t>(owners));
  if (owners == 1) {
    shares.front() = std::move(gradients);
    return shares;
  }
  for (RowCursor row(gradients, widths); !row.at_end(); row.next()) {
    append(row, shares[static_cast<std::size_t>(owner_of_row(row.id(), owners))]);
  }
  return shares;
}

}  // namespace trainyard::runtime

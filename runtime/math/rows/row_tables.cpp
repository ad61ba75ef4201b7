#include "runtime/math/rows/row_tables.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Rows of one table that stand together, by their ids in it.
struct Stretch {
  std::int64_t table = 0;
  std::vector<std::int64_t> ids;
  std::size_t first_float = 0;
  std::size_t floats = 0;
};

// Calls visit(stretch) for one after another.
template <class Visit>
void for_each_stretch(std::span<const std::int64_t> rows, const RowWidths& widths, Visit visit) {
  Stretch stretch;
  for (std::size_t begin = 0; begin < rows.size();) {
    stretch.table = table_of(rows[begin]);
    ENSURE(widths.has(rows[begin]));
    stretch.ids.clear();
    std::size_t end = begin;
    for (; end < rows.size() && table_of(rows[end]) == stretch.table; ++end) {
      stretch.ids.push_back(id_in_table(rows[end]));
    }
    stretch.first_float += stretch.floats;
    stretch.floats = (end - begin) * static_cast<std::size_t>(widths.of_table(stretch.table));
    visit(stretch);
    begin = end;
  }
}

}  // namespace

RowTables::RowTables(RowLayout layout, std::uint64_t seed, const OptimizerConfig& optimizer)
    : layout_(std::move(layout)), widths_(layout_) {
  ENSURE(!layout_.empty());
  for (std::int64_t table = 0; table < layout_.tables(); ++table) {
    tables_.emplace_back(layout_, seed, optimizer, table);
  }
}

RowTables RowTables::fork() {
  RowTables copy(layout_, widths_);
  for (RowTable& table : tables_) copy.tables_.push_back(table.fork());
  return copy;
}

// Of one table, rows are ids.
void RowTables::read(std::span<const std::int64_t> rows, std::span<float> floats) const {
  if (tables_.size() == 1) return tables_.front().read(rows, floats);
  ENSURE(std::ssize(floats) == widths_.floats(rows));
  for_each_stretch(rows, widths_, [&](const Stretch& stretch) {
    table(stretch.table).read(stretch.ids, floats.subspan(stretch.first_float, stretch.floats));
  });
}

void RowTables::apply(const RowGradients& gradients, const RowTable::Update& update,
                      std::span<float> before) {
  if (tables_.size() == 1) return tables_.front().apply(gradients, update, before);
  ENSURE(std::ssize(gradients.rows) == widths_.floats(gradients.ids));
  for_each_stretch(gradients.ids, widths_, [&](const Stretch& stretch) {
    const auto floats = std::span(gradients.rows).subspan(stretch.first_float, stretch.floats);
    table(stretch.table)
        .apply({.ids = stretch.ids, .rows = {floats.begin(), floats.end()}}, update,
               before.empty() ? before : before.subspan(stretch.first_float, stretch.floats));
  });
}

std::size_t RowTables::size() const {
  std::size_t sum = 0;
  for (const RowTable& table : tables_) sum += table.size();
  return sum;
}

}  // namespace trainyard::runtime

#include "runtime/data/recsys_columns.h"

#include <algorithm>
#include <set>

#include "runtime/data/labels.h"

namespace trainyard::runtime {
namespace {

Result<std::size_t> find_column(const std::string& field, const std::string& column,
                                const std::vector<std::string>& first) {
  if (const auto position = parse_whole_number(column)) {
    if (*position < std::ssize(first)) return static_cast<std::size_t>(*position);
    return invalid(field + " has column " + column + ", but there are " +
                   std::to_string(first.size()) + ", counted from 0");
  }
  const auto found = std::ranges::find(first, column);
  if (found != first.end()) return static_cast<std::size_t>(found - first.begin());
  return invalid(field + ": the first line names no column \"" + column + "\"");
}

}  // namespace

std::vector<std::string> distinct_id_columns(const RecsysSpec& recsys) {
  std::vector<std::string> distinct;
  std::set<std::string> known;
  for (const IdColumns& field : recsys.fields) {
    for (const std::string& column : field.columns) {
      if (known.insert(column).second) distinct.push_back(column);
    }
  }
  return distinct;
}

Result<RecsysFileColumns> find_recsys_columns(const DatasetSpec& spec,
                                              const std::vector<std::string>& first) {
  RecsysFileColumns columns{.count = first.size(), .numeric = {}, .ids = {}, .label = {}};
  for (const std::string& name : spec.recsys.numeric) {
    TRY_ASSIGN(const std::size_t at, find_column("dataset.numeric", name, first));
    columns.numeric.push_back(at);
  }
  for (const std::string& name : distinct_id_columns(spec.recsys)) {
    TRY_ASSIGN(const std::size_t at, find_column("dataset.categorical", name, first));
    columns.ids.push_back(at);
  }
  if (!spec.recsys.has_label) return columns;
  TRY_ASSIGN(columns.label, find_column("dataset.label_column", spec.label_column, first));
  const auto is_label = [&columns](std::size_t at) { return at == *columns.label; };
  if (std::ranges::any_of(columns.numeric, is_label) ||
      std::ranges::any_of(columns.ids, is_label)) {
    return invalid("dataset.label_column is among the columns that the model reads");
  }
  return columns;
}

}  // namespace trainyard::runtime

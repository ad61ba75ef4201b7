#include "runtime/data/csv.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "runtime/data/class_names.h"
#include "runtime/data/csv_text.h"
#include "runtime/data/data_file.h"
#include "runtime/data/labels.h"
#include "runtime/data/table_set.h"

namespace trainyard::runtime {
namespace {

using Cells = std::vector<std::string>;

Error bad_file(const DatasetSpec& spec, const std::string& what) {
  return invalid("dataset: " + spec.path + ": " + what);
}

Result<std::string> read_text(const DatasetSpec& spec) {
  TRY_ASSIGN(const Descriptor opened, open_data_file("dataset.path", spec.path));
  std::ifstream file(path_of(opened), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return invalid("dataset.path: " + spec.path + " cannot be read");
  return std::move(text).str();
}

struct Columns {
  std::size_t count = 0;
  std::size_t label = 0;
  bool has_header = false;
};

Error no_number(const DatasetSpec& spec, std::int64_t line, std::size_t column) {
  return bad_file(spec, "line " + std::to_string(line) + ", column " + std::to_string(column) +
                            " (counted from 0): expected a finite number");
}

// Whether the first line names the columns; the rule is in csv.h.
Result<bool> is_header(const DatasetSpec& spec, const Cells& first, std::int64_t line,
                       std::size_t label) {
  std::optional<std::size_t> odd;
  for (std::size_t column = 0; column < first.size() && !odd; ++column) {
    if (column != label && !parse_number(first[column])) odd = column;
  }
  if (!odd || std::ranges::none_of(first, is_written_as_number)) return odd.has_value();
  Error error = no_number(spec, line, *odd);
  error.message += "; a first line of names has no numbers, or dataset.label_column is one of them";
  return error;
}

Result<Columns> find_columns(const DatasetSpec& spec, const Cells& first, std::int64_t line) {
  Columns columns{.count = first.size(), .label = first.size() - 1};
  if (columns.count < 2) return bad_file(spec, "needs two columns or more: features and a label");
  bool by_name = false;
  if (!spec.label_column.empty()) {
    const auto found = std::ranges::find(first, spec.label_column);
    const std::optional<std::int64_t> position = parse_whole_number(spec.label_column);
    by_name = found != first.end() && !position;
    if (by_name) {
      columns.label = static_cast<std::size_t>(found - first.begin());
    } else if (!position) {
      return bad_file(spec, "dataset.label_column: the first line names no column \"" +
                                spec.label_column + "\"");
    } else if (*position >= std::ssize(first)) {
      return bad_file(spec, "dataset.label_column is " + spec.label_column + ", but there are " +
                                std::to_string(columns.count) + " columns, counted from 0");
    } else {
      columns.label = static_cast<std::size_t>(*position);
    }
  }
  columns.has_header = by_name;
  if (by_name) return columns;
  TRY_ASSIGN(columns.has_header, is_header(spec, first, line, columns.label));
  return columns;
}

// Rows as they stand in the file: numbers, and labels still as text.
struct RawTable {
  std::vector<float> features;
  std::vector<LabelCell> labels;
};

Status append_row(const DatasetSpec& spec, const Columns& columns, std::int64_t line,
                  const Cells& cells, RawTable& table) {
  const std::string where = "line " + std::to_string(line);
  if (cells.size() != columns.count) {
    return bad_file(spec, where + " has " + std::to_string(cells.size()) +
                              " cells, the first has " + std::to_string(columns.count));
  }
  for (std::size_t column = 0; column < cells.size(); ++column) {
    if (column == columns.label) {
      if (cells[column].empty()) return bad_file(spec, where + " has an empty label");
      table.labels.push_back({cells[column], line});
      continue;
    }
    const std::optional<float> value = parse_number(cells[column]);
    if (!value) return no_number(spec, line, column);
    table.features.push_back(*value);
  }
  return ok();
}

Result<RawTable> read_rows(const DatasetSpec& spec, std::string_view text, Columns& columns) {
  CsvText csv(text);
  Cells cells;
  RawTable table;
  for (bool first = true;; first = false) {
    auto more = csv.next(cells);
    if (!more) return bad_file(spec, more.error().message);
    if (!*more) break;
    if (first) {
      TRY_ASSIGN(columns, find_columns(spec, cells, csv.line()));
      if (columns.has_header) continue;
    }
    TRY(append_row(spec, columns, csv.line(), cells, table));
  }
  if (table.labels.empty()) return bad_file(spec, "has no rows");
  return table;
}

// Numbers: rows, features, classes. Arrays: features, labels, targets, PackedNames of the classes.
Result<DecodedData> decode(const DatasetSpec& spec) {
  TRY_ASSIGN(const std::string text, read_text(spec));
  Columns columns;
  TRY_ASSIGN(RawTable raw, read_rows(spec, text, columns));
  auto labels = read_labels(raw.labels);
  if (!labels) return bad_file(spec, labels.error().message);
  PackedNames names = pack_names(labels->names);
  return decoded_data(
      {std::ssize(raw.labels), static_cast<std::int64_t>(columns.count) - 1, labels->classes},
      std::move(raw.features), std::move(labels->labels), std::move(labels->targets),
      std::move(names.ends), std::move(names.bytes));
}

bool is_sound(const DecodedData& data) {
  if (data.numbers.size() != 3 || data.arrays.size() != 5) return false;
  const std::int64_t rows = data.numbers[0];
  const std::int64_t features = data.numbers[1];
  const std::int64_t classes = data.numbers[2];
  const auto labels = array_of<std::int32_t>(data, 1);
  const auto targets = array_of<float>(data, 2);
  const auto is_class = [classes](std::int32_t label) { return label >= 0 && label < classes; };
  return rows > 0 && features > 0 && std::ssize(array_of<float>(data, 0)) == rows * features &&
         std::ssize(labels) == (classes > 0 ? rows : 0) &&
         std::ssize(targets) == (classes > 0 ? 0 : rows) && std::ranges::all_of(labels, is_class) &&
         are_names(data, 3, classes);
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_csv(const DatasetSpec& spec, std::uint64_t seed,
                                          const DataCache& cache) {
  const DataCache::Source source{.reader = "csv 3, labels in \"" + spec.label_column + "\"",
                                 .files = {spec.path}};
  TRY_ASSIGN(const DecodedData data, cache.get(
                                         source, [&spec] { return decode(spec); }, is_sound));
  const std::int64_t rows_there = data.numbers[0];
  const std::int64_t features = data.numbers[1];
  TRY_ASSIGN(SplitRows rows, split_rows(spec, seed, rows_there));
  TRY(keep_first_rows(spec, rows));

  DataShape shape{.example = {features}, .features = features, .classes = data.numbers[2]};
  shape.class_names = unpack_names(data, 3);
  Table table{.features = array_of<float>(data, 0),
              .labels = array_of<std::int32_t>(data, 1),
              .targets = array_of<float>(data, 2),
              .owner = data.owner};
  return std::unique_ptr<Dataset>(
      std::make_unique<TableSet>(std::move(shape), std::move(table), std::move(rows)));
}

}  // namespace trainyard::runtime

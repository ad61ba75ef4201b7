#include "runtime/data/series_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "runtime/data/csv_text.h"
#include "runtime/data/data_file.h"
#include "runtime/data/text_file.h"
#include "schemas/wire/json_text.h"

namespace trainyard::runtime {
namespace {

using nlohmann::json;
using SeriesCells = std::vector<std::string>;

Error bad_series(const DatasetSpec& spec, std::int64_t line, const std::string& what) {
  return bad_data(spec.path, "line " + std::to_string(line) + ": " + what);
}

// Ends the row whose numbers were added last.
Status end_row(const DatasetSpec& spec, std::int64_t line, SeriesTable& table) {
  const std::int64_t numbers = std::ssize(table.values) - table.offsets.back();
  if (numbers == 0) return bad_series(spec, line, "has no time step");
  if (numbers % spec.features != 0) {
    return bad_series(spec, line,
                      "has " + std::to_string(numbers) +
                          " numbers, which is not a multiple of dataset.features, " +
                          std::to_string(spec.features));
  }
  const std::int64_t steps = numbers / spec.features;
  if (spec.sequence.length > 0 && steps > spec.sequence.length) {
    return bad_series(spec, line,
                      "has " + std::to_string(steps) + " time steps, more than dataset.length, " +
                          std::to_string(spec.sequence.length));
  }
  table.offsets.push_back(std::ssize(table.values));
  return ok();
}

Status append_cells(const DatasetSpec& spec, std::int64_t line, const SeriesCells& cells,
                    SeriesTable& table) {
  std::size_t label = cells.size() - 1;
  if (const auto position = parse_whole_number(spec.label_column)) {
    if (*position >= std::ssize(cells)) {
      return bad_series(spec, line,
                        "dataset.label_column is " + spec.label_column + ", but it has " +
                            std::to_string(cells.size()) + " columns, counted from 0");
    }
    label = static_cast<std::size_t>(*position);
  }
  if (cells[label].empty()) return bad_series(spec, line, "has an empty label");
  std::size_t end = cells.size();
  while (end > 0 && (end - 1 == label || cells[end - 1].empty())) --end;
  for (std::size_t column = 0; column < end; ++column) {
    if (column == label) continue;
    const std::optional<float> value = parse_number(cells[column]);
    if (!value) {
      return bad_series(
          spec, line,
          "column " + std::to_string(column) + " (counted from 0): expected a finite number");
    }
    table.values.push_back(*value);
  }
  table.labels.push_back({cells[label], line});
  return end_row(spec, line, table);
}

Result<SeriesTable> read_csv_series(const DatasetSpec& spec, std::string_view text) {
  CsvText csv(text);
  SeriesCells cells;
  SeriesTable table;
  for (bool is_first = true;; is_first = false) {
    auto more = csv.next(cells);
    if (!more) return bad_data(spec.path, more.error().message);
    if (!*more) break;
    if (is_first && std::ranges::none_of(cells, is_written_as_number)) continue;
    TRY(append_cells(spec, csv.line(), cells, table));
  }
  return table;
}

// The float next to it; nothing where there is none.
std::optional<float> float_of(const json& value) {
  if (!value.is_number()) return std::nullopt;
  const auto number = value.get<double>();
  if (!(std::abs(number) <= double{std::numeric_limits<float>::max()})) return std::nullopt;
  return static_cast<float>(number);
}

Status append_step(const DatasetSpec& spec, std::int64_t line, const json& step,
                   SeriesTable& table) {
  const auto append = [&](const json& value) -> Status {
    const std::optional<float> number = float_of(value);
    if (!number) return bad_series(spec, line, "expected a finite number in \"features\"");
    table.values.push_back(*number);
    return ok();
  };
  if (spec.features == 1 && !step.is_array()) return append(step);
  if (!step.is_array() || std::ssize(step) != spec.features) {
    return bad_series(spec, line,
                      "a time step in \"features\" is not a list of dataset.features, " +
                          std::to_string(spec.features) + ", numbers");
  }
  for (const json& value : step) TRY(append(value));
  return ok();
}

Status append_object(const DatasetSpec& spec, std::int64_t line, std::string_view text,
                     SeriesTable& table) {
  const ParsedJson parsed = parse_json_text(text);
  const auto* const document = std::get_if<JsonDocument>(&parsed);
  // Their own words may have the file's.
  if (document == nullptr) return bad_series(spec, line, "is no JSON");
  if (!document->faults.empty()) {
    return bad_series(spec, line,
                      "has a key twice, a number that no double can hold, more than a million "
                      "values, or is nested too deeply");
  }
  const json& object = document->value;
  const auto features = object.find("features");
  const auto label = object.find("label");
  if (!object.is_object() || features == object.end() || !features->is_array() ||
      label == object.end()) {
    return bad_series(spec, line, "is no object with a list \"features\" and a \"label\"");
  }
  if (!label->is_number() && !label->is_string()) {
    return bad_series(spec, line, "\"label\" is neither a number nor a name");
  }
  table.labels.push_back({label->is_string() ? label->get<std::string>() : to_text(*label), line});
  if (table.labels.back().text.empty()) return bad_series(spec, line, "has an empty label");
  for (const json& step : *features) TRY(append_step(spec, line, step, table));
  return end_row(spec, line, table);
}

Result<SeriesTable> read_json_series(const DatasetSpec& spec, std::string_view text) {
  SeriesTable table;
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    TRY(append_object(spec, line, content, table));
  }
  return table;
}

}  // namespace

Result<SeriesTable> read_series(const DatasetSpec& spec) {
  TRY_ASSIGN(const std::string text, read_text_file("dataset.path", spec.path));
  const auto ends_in = [&spec](std::string_view ending) { return spec.path.ends_with(ending); };
  const bool is_json = ends_in(".json") || ends_in(".jsonl") || ends_in(".ndjson");
  TRY_ASSIGN(SeriesTable table,
             is_json ? read_json_series(spec, text) : read_csv_series(spec, text));
  if (table.labels.empty()) return bad_data(spec.path, "has no rows");
  return table;
}

}  // namespace trainyard::runtime

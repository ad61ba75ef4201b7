#include "schemas/wire/recsys_spec_json.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>

#include "schemas/wire/sequence_spec_json.h"

namespace trainyard {
namespace {

using nlohmann::json;
using Columns = std::vector<std::string>;

constexpr std::int64_t position_max = 1'000'000;
constexpr std::size_t field_columns_max = 1024;  // of a field
constexpr std::size_t id_fields_max = 64;
constexpr std::size_t log_frequencies_max = 16;
constexpr std::int64_t ids_max = 2'147'483'647;
constexpr std::int64_t column_vocabulary_max = 16'777'216;
constexpr std::int64_t standard_buckets = 1'000'000;

constexpr NameTable<ColumnSeparator, 3> separator_names{
    {{ColumnSeparator::comma, "comma"},
     {ColumnSeparator::tab, "tab"},
     {ColumnSeparator::semicolon, "semicolon"}}};

bool is_position(std::string_view column) {
  return !column.empty() && column.find_first_not_of("0123456789") == column.npos;
}

std::optional<std::int64_t> position_of(std::string_view digits) {
  std::int64_t position = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), position);
  if (!is_position(digits) || error != std::errc() || position > position_max) return std::nullopt;
  return position;
}

bool is_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  return dash != text.npos && position_of(text.substr(0, dash)) &&
         position_of(text.substr(dash + 1));
}

// "14-39": both ends included. Nothing where the text is no range.
std::optional<Columns> range_of(const JsonPlace& place, std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == text.npos) return std::nullopt;
  const auto first = position_of(text.substr(0, dash));
  const auto last = position_of(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  if (*last < *first || static_cast<std::size_t>(*last - *first) >= field_columns_max) {
    place.fault("must be 1 to " + std::to_string(field_columns_max) +
                " positions, first to last, got " + describe(place.value));
    return Columns{};
  }
  Columns columns;
  for (std::int64_t at = *first; at <= *last; ++at) columns.push_back(std::to_string(at));
  return columns;
}

// A header name or a position.
std::optional<std::string> read_one_column(const JsonPlace& place) {
  if (place.value.is_number()) {
    const auto position = read_integer(place, {0, position_max});
    return position ? std::optional(std::to_string(*position)) : std::nullopt;
  }
  auto text = read_text(place, printable_rule(1, 255));
  if (text && is_range(*text)) {
    place.fault("must be one column, got " + describe(place.value));
    return std::nullopt;
  }
  if (!text || !is_position(*text)) return text;
  const auto position = position_of(*text);
  if (position) return std::to_string(*position);
  place.fault("must be a position up to " + std::to_string(position_max) + ", got " +
              describe(place.value));
  return std::nullopt;
}

// A list of columns, or a range of positions.
Columns read_columns(const JsonPlace& place) {
  if (place.value.is_string()) {
    if (auto range = range_of(place, place.value.get_ref<const std::string&>())) return *range;
  }
  if (!place.value.is_array() || place.value.empty() || place.value.size() > field_columns_max) {
    place.fault("must be positions from 0 such as \"14-39\", or a list of 1 to " +
                std::to_string(field_columns_max) + " columns, got " + describe(place.value));
    return {};
  }
  Columns columns;
  std::set<std::string> known;
  for (std::size_t i = 0; i < place.value.size(); ++i) {
    const JsonPlace item{place.value[i], child_pointer(place.pointer, std::to_string(i)),
                         place.faults};
    auto column = read_one_column(item);
    if (!column) continue;
    if (!known.insert(*column).second) item.fault("is there twice");
    columns.push_back(*std::move(column));
  }
  return columns;
}

// {"user": "userId", "context": ["hour", "day"]}
void read_groups(const JsonPlace& place, RecsysSpec& recsys) {
  if (place.value.empty() || place.value.size() > id_fields_max) {
    place.fault("must have 1 to " + std::to_string(id_fields_max) + " fields, got " +
                std::to_string(place.value.size()));
    return;
  }
  for (const auto& [name, value] : place.value.items()) {
    const JsonPlace item{value, child_pointer(place.pointer, name), place.faults};
    const json name_value(name);
    const JsonPlace of_name{name_value, item.pointer, place.faults};
    if (!read_text(of_name, printable_rule(1, 255))) continue;
    if (name == numeric_field) item.fault("\"numeric\" is the field of the numbers");
    IdColumns field{.field = name};
    if (value.is_string() && !range_of(item, value.get_ref<const std::string&>())) {
      field.is_single = true;
    }
    if (value.is_number() || field.is_single) {
      field.is_single = true;
      if (auto column = read_one_column(item)) field.columns.push_back(*std::move(column));
    } else {
      field.columns = read_columns(item);
    }
    recsys.fields.push_back(std::move(field));
  }
}

// The field "categorical" of all of them, and one of each column that has a name.
void read_categorical(const JsonPlace& place, RecsysSpec& recsys) {
  if (place.value.is_object()) {
    read_groups(place, recsys);
  } else {
    const Columns columns = read_columns(place);
    recsys.fields.push_back({.field = categorical_field, .columns = columns});
    for (const std::string& column : columns) {
      if (is_position(column)) continue;
      if (column == numeric_field || column == categorical_field) {
        place.fault(
            "a column of this name is no field of its own; name the fields: "
            "{\"field\": \"" +
            column + "\"}");
        continue;
      }
      recsys.fields.push_back({.field = column, .columns = {column}, .is_single = true});
    }
  }
  std::ranges::sort(recsys.fields, {}, &IdColumns::field);
  if (recsys.fields.size() <= id_fields_max) return;
  place.fault(
      "names " + std::to_string(recsys.fields.size() - 1) +
      " columns, each of which is a field of its own: " + std::to_string(id_fields_max - 1) +
      " at most; {\"name\": [...]} makes one field of many");
}

// {"popularity": "movieId"}
void read_log_frequencies(const JsonPlace& place, RecsysSpec& recsys) {
  if (!place.value.is_object() || place.value.empty() || place.value.size() > log_frequencies_max) {
    place.fault("must have 1 to " + std::to_string(log_frequencies_max) +
                " fields, each with the field of ids that it counts, got " + describe(place.value));
    return;
  }
  for (const auto& [name, value] : place.value.items()) {
    const JsonPlace item{value, child_pointer(place.pointer, name), place.faults};
    const json name_value(name);
    if (!read_text({name_value, item.pointer, place.faults}, printable_rule(1, 255))) continue;
    if (name == numeric_field ||
        std::ranges::find(recsys.fields, name, &IdColumns::field) != recsys.fields.end()) {
      item.fault("there is a field of this name already");
    }
    const auto of = read_text(item, printable_rule(1, 255));
    if (!of) continue;
    const auto counted = std::ranges::find(recsys.fields, *of, &IdColumns::field);
    if (counted == recsys.fields.end() || !counted->is_single) {
      item.fault("must be a field of one id in \"categorical\", got " + describe(item.value));
    }
    recsys.log_frequencies.push_back({.field = name, .of = *of});
  }
}

// Names are the header's.
void check_names(const JsonPlace& place, const RecsysSpec& recsys, const Columns& columns) {
  if (recsys.has_header || std::ranges::all_of(columns, is_position)) return;
  place.fault("columns have names where \"header\" is true; positions are counted from 0");
}

json column_to_json(const std::string& column) {
  return is_position(column) ? json(std::stoll(column)) : json(column);
}

json columns_to_json(const Columns& columns) {
  json array = json::array();
  for (const std::string& column : columns) array.push_back(column_to_json(column));
  return array;
}

void read_ids(Fields& fields, RecsysSpec& recsys) {
  const auto vocabulary = fields.find("vocabulary");
  const auto buckets = fields.find("hash_buckets");
  if (vocabulary) {
    recsys.vocabulary = 2;
    fields.integer("vocabulary", recsys.vocabulary, {2, column_vocabulary_max});
    if (buckets)
      buckets->fault("cannot be given beside \"vocabulary\": ids are the one or the other");
    return;
  }
  recsys.hash_buckets = standard_buckets;
  fields.integer("hash_buckets", recsys.hash_buckets, {1, ids_max});
}

void read_label(Fields& fields, DatasetSpec& dataset) {
  const auto place = fields.find("label_column");
  if (!place || place->value.is_null()) return;
  if (auto column = read_one_column(*place)) {
    dataset.label_column = *std::move(column);
    dataset.recsys.has_label = true;
    check_names(*place, dataset.recsys, {dataset.label_column});
  }
}

}  // namespace

void read_recsys_fields(Fields& fields, DatasetSpec& dataset) {
  RecsysSpec& recsys = dataset.recsys;
  fields.choice("separator", recsys.separator, separator_names);
  fields.boolean("header", recsys.has_header);
  read_label(fields, dataset);
  if (const auto place = fields.find("numeric")) {
    recsys.numeric = read_columns(*place);
    check_names(*place, recsys, recsys.numeric);
  }
  if (const auto place = fields.require("categorical")) {
    read_categorical(*place, recsys);
    Columns all;
    for (const IdColumns& field : recsys.fields) {
      all.insert(all.end(), field.columns.begin(), field.columns.end());
    }
    check_names(*place, recsys, all);
  }
  // Beside categories that are at fault, what is there to count is not known.
  const auto counted = fields.find("log_frequency");
  if (counted && !recsys.fields.empty()) read_log_frequencies(*counted, recsys);
  read_ids(fields, recsys);
  fields.number("test_fraction", dataset.test_fraction, {0.001, 0.999});
}

void add_recsys_fields(const DatasetSpec& dataset, json& object) {
  const RecsysSpec& recsys = dataset.recsys;
  object["separator"] = find_name(separator_names, recsys.separator);
  object["header"] = recsys.has_header;
  object["label_column"] = recsys.has_label ? column_to_json(dataset.label_column) : json();
  if (!recsys.numeric.empty()) object["numeric"] = columns_to_json(recsys.numeric);
  json categorical = json::object();
  for (const IdColumns& field : recsys.fields) {
    categorical[field.field] =
        field.is_single ? column_to_json(field.columns.front()) : columns_to_json(field.columns);
  }
  object["categorical"] = categorical;
  for (const LogFrequency& each : recsys.log_frequencies) {
    object["log_frequency"][each.field] = each.of;
  }
  if (recsys.vocabulary > 0) {
    object["vocabulary"] = recsys.vocabulary;
  } else {
    object["hash_buckets"] = recsys.hash_buckets;
  }
  object["test_fraction"] = dataset.test_fraction;
}

}  // namespace trainyard

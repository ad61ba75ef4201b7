// The part "dataset" of the job spec.
#include "schemas/wire/job_spec_fields.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::int64_t examples_max = 1'000'000'000;

enum class Format { synthetic_digits, idx, csv, libsvm };
constexpr NameTable<Format, 4> format_names{{{Format::synthetic_digits, "synthetic_digits"},
                                             {Format::idx, "idx"},
                                             {Format::csv, "csv"},
                                             {Format::libsvm, "libsvm"}}};

// What the name and the path tell of the format, where it is not given.
std::optional<Format> guess_format(std::string_view name, const json& dataset) {
  if (name == "synthetic_digits") return Format::synthetic_digits;
  if (name == "mnist" || name == "fashion_mnist") return Format::idx;
  const auto path = dataset.find("path");
  if (path == dataset.end() || !path->is_string()) return std::nullopt;
  if (path->get_ref<const std::string&>().ends_with(".csv")) return Format::csv;
  return std::nullopt;
}

std::string read_absolute_path(const JsonPlace& place, std::size_t least) {
  const auto text = read_text(place, printable_rule(least, 4096));
  if (!text) return "";
  if (text->empty() || text->starts_with('/')) return *text;
  place.fault("must be an absolute path on every agent's host, got " + describe(place.value));
  return "";
}

void read_path(Fields& fields, DatasetSpec& dataset) {
  if (const auto place = fields.require("path")) dataset.path = read_absolute_path(*place, 1);
}

void read_libsvm(Fields& fields, DatasetSpec& dataset) {
  if (const auto place = fields.find("test_path")) {
    dataset.test_path = read_absolute_path(*place, 0);
  }
  fields.integer("features", dataset.features, {0, 2'147'483'647});
  if (dataset.test_path.empty()) {
    fields.number("test_fraction", dataset.test_fraction, {0.001, 0.999});
  }
}

// The header's name of the column, or its position from the left.
void read_label_column(Fields& fields, DatasetSpec& dataset) {
  const auto place = fields.find("label_column");
  if (!place) return;
  if (place->value.is_number()) {
    if (const auto position = read_integer(*place, {0, 1'000'000})) {
      dataset.label_column = std::to_string(*position);
    }
  } else if (auto name = read_text(*place, printable_rule(0, 255))) {
    dataset.label_column = *std::move(name);
  }
}

void read_format(Fields& fields, Format format, DatasetSpec& dataset) {
  dataset.format = find_name(format_names, format);
  if (format == Format::synthetic_digits) {
    dataset.train_examples = 20'000;
    dataset.test_examples = 4'000;
    fields.integer("train_examples", dataset.train_examples, {1, 10'000'000});
    fields.integer("test_examples", dataset.test_examples, {1, 10'000'000});
    return;
  }
  read_path(fields, dataset);
  fields.integer("train_examples", dataset.train_examples, {0, examples_max});
  fields.integer("test_examples", dataset.test_examples, {0, examples_max});
  if (format == Format::csv) {
    read_label_column(fields, dataset);
    fields.number("test_fraction", dataset.test_fraction, {0.001, 0.999});
  }
  if (format == Format::libsvm) read_libsvm(fields, dataset);
}

}  // namespace

DatasetSpec read_dataset(const JsonPlace& place) {
  DatasetSpec dataset;
  Fields fields(place, "name");
  if (!fields.require("name")) return dataset;
  fields.text("name", dataset.name, name_rule(100));

  std::optional<Format> format = guess_format(dataset.name, place.value);
  if (const auto given = fields.find("format")) {
    format = Format::csv;
    const std::size_t faults_before = place.faults.size();
    fields.choice("format", *format, format_names);
    if (place.faults.size() > faults_before) return dataset;
  }
  if (!format) {
    place.faults.push_back(
        {child_pointer(place.pointer, "format"),
         "is required for this data set: one of synthetic_digits, idx, csv, libsvm"});
    return dataset;
  }
  read_format(fields, *format, dataset);
  fields.refuse_others();
  return dataset;
}

json dataset_to_json(const DatasetSpec& dataset) {
  json object = {{"name", dataset.name},
                 {"format", dataset.format},
                 {"train_examples", dataset.train_examples},
                 {"test_examples", dataset.test_examples}};
  if (dataset.format != "synthetic_digits") object["path"] = dataset.path;
  if (dataset.format == "csv") {
    object["label_column"] = dataset.label_column;
    object["test_fraction"] = dataset.test_fraction;
  }
  if (dataset.format == "libsvm") {
    object["test_path"] = dataset.test_path;
    object["features"] = dataset.features;
    if (dataset.test_path.empty()) object["test_fraction"] = dataset.test_fraction;
  }
  return object;
}

}  // namespace trainyard

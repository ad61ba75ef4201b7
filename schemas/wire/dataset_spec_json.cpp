// The part "dataset" of the job spec.
#include "schemas/base/near_name.h"
#include "schemas/wire/image_spec_json.h"
#include "schemas/wire/job_spec_fields.h"
#include "schemas/wire/recsys_spec_json.h"
#include "schemas/wire/sequence_spec_json.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::int64_t examples_max = 1'000'000'000;
constexpr std::int64_t drawn_examples_max = 10'000'000;

enum class Format {
  synthetic_digits,
  idx,
  cifar,
  image_folder,
  csv,
  libsvm,
  text,
  tokens,
  sequences,
  image_lines,
  synthetic_lines,
  recsys
};
constexpr NameTable<Format, 12> format_names{{{Format::synthetic_digits, "synthetic_digits"},
                                              {Format::idx, "idx"},
                                              {Format::cifar, "cifar"},
                                              {Format::image_folder, "image_folder"},
                                              {Format::csv, "csv"},
                                              {Format::libsvm, "libsvm"},
                                              {Format::text, "text"},
                                              {Format::tokens, "tokens"},
                                              {Format::sequences, "sequences"},
                                              {Format::image_lines, "image_lines"},
                                              {Format::synthetic_lines, "synthetic_lines"},
                                              {Format::recsys, "recsys"}}};
constexpr NameTable<CifarLabels, 2> cifar_label_names{
    {{CifarLabels::fine, "fine"}, {CifarLabels::coarse, "coarse"}}};

// Data sets whose names tell their format.
constexpr NameTable<Format, 6> known_datasets{{{Format::synthetic_digits, "synthetic_digits"},
                                               {Format::synthetic_lines, "synthetic_lines"},
                                               {Format::idx, "mnist"},
                                               {Format::idx, "fashion_mnist"},
                                               {Format::cifar, "cifar10"},
                                               {Format::cifar, "cifar100"}}};

std::string did_you_mean_dataset(const std::string& dataset) {
  std::vector<std::string_view> names;
  for (const auto& [format, name] : known_datasets) names.push_back(name);
  return did_you_mean(dataset, names);
}

// What the name and the path tell of the format, where it is not given.
std::optional<Format> guess_format(std::string_view name, const json& dataset) {
  if (const auto known = find_value(known_datasets, name)) return known;
  const auto path = dataset.find("path");
  if (path == dataset.end() || !path->is_string()) return std::nullopt;
  if (path->get_ref<const std::string&>().ends_with(".csv")) return Format::csv;
  return std::nullopt;
}

void read_path(Fields& fields, DatasetSpec& dataset) {
  if (const auto place = fields.require("path")) dataset.path = read_absolute_path(*place, 1);
}

void read_libsvm(Fields& fields, DatasetSpec& dataset) {
  fields.integer("features", dataset.features, {0, 2'147'483'647});
  read_test_path(fields, dataset);
}

constexpr std::int64_t image_side_max = 2048;

// [height, width] of images in files.
void read_size(const JsonPlace& place, DatasetSpec& dataset) {
  if (!place.value.is_array() || place.value.size() != 2) {
    place.fault("must be [height, width], got " + describe(place.value));
    return;
  }
  const auto read_side = [&place](std::size_t index) {
    return read_integer({place.value[index], child_pointer(place.pointer, std::to_string(index)),
                         place.faults},
                        {1, image_side_max})
        .value_or(1);
  };
  dataset.height = read_side(0);
  dataset.width = read_side(1);
}

void read_image_shape(Fields& fields, DatasetSpec& dataset) {
  if (const auto place = fields.require("size")) read_size(*place, dataset);
  fields.integer("channels", dataset.channels, {1, 3});
  if (dataset.channels == 2) {
    if (const auto place = fields.find("channels")) place->fault("must be 1 (grey) or 3, got 2");
    dataset.channels = 3;
  }
}

// Of every image of the format; nothing where the files tell it.
std::optional<std::int64_t> channels_of(const DatasetSpec& dataset) {
  if (is_synthetic(dataset.format)) return 1;
  if (dataset.format == "cifar") return 3;
  if (dataset.format == "image_folder" || dataset.format == "image_lines") return dataset.channels;
  return std::nullopt;
}

void read_image_fields(Fields& fields, DatasetSpec& dataset) {
  if (const auto place = fields.find("normalize")) {
    dataset.normalize = read_normalize(*place, channels_of(dataset));
  }
  if (const auto place = fields.find("augment")) dataset.augment = read_augment(*place);
}

void read_own_fields(Fields& fields, Format format, DatasetSpec& dataset) {
  switch (format) {
    case Format::synthetic_digits:
    case Format::synthetic_lines:
    case Format::idx: return;
    case Format::cifar: return fields.choice("labels", dataset.labels, cifar_label_names);
    case Format::image_folder:
      read_image_shape(fields, dataset);
      return fields.number("test_fraction", dataset.test_fraction, {0.001, 0.999});
    case Format::csv:
      read_column(fields, "label_column", dataset.label_column);
      return fields.number("test_fraction", dataset.test_fraction, {0.001, 0.999});
    case Format::libsvm: return read_libsvm(fields, dataset);
    case Format::text: return read_text_fields(fields, dataset);
    case Format::tokens: return read_tokens_fields(fields, dataset);
    case Format::sequences: return read_sequences_fields(fields, dataset);
    case Format::recsys: return read_recsys_fields(fields, dataset);
    case Format::image_lines:
      dataset.channels = 1;
      read_image_shape(fields, dataset);
      return read_lines_fields(fields, dataset);
  }
}

void read_format(Fields& fields, Format format, DatasetSpec& dataset) {
  dataset.format = find_name(format_names, format);
  const bool is_drawn = is_synthetic(dataset.format);
  if (is_drawn) {
    dataset.train_examples = 20'000;
    dataset.test_examples = 4'000;
  } else {
    read_path(fields, dataset);
  }
  const IntegerRange examples =
      is_drawn ? IntegerRange{1, drawn_examples_max} : IntegerRange{0, examples_max};
  fields.integer("train_examples", dataset.train_examples, examples);
  fields.integer("test_examples", dataset.test_examples, examples);
  read_own_fields(fields, format, dataset);
  if (has_images(dataset.format)) read_image_fields(fields, dataset);
}

std::string format_list() {
  std::string names;
  for (const auto& [format, name] : format_names) {
    names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
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
    const std::string why =
        dataset.name.empty()
            ? ""
            : ", as \"" + dataset.name + "\" is no data set that is known by its name";
    place.faults.push_back(
        {child_pointer(place.pointer, "format"),
         "is required" + why + ": one of " + format_list() + did_you_mean_dataset(dataset.name)});
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
  if (!is_synthetic(dataset.format)) object["path"] = dataset.path;
  if (dataset.format == "csv") {
    object["label_column"] = dataset.label_column;
    object["test_fraction"] = dataset.test_fraction;
  }
  if (dataset.format == "libsvm") object["features"] = dataset.features;
  if (dataset.format == "libsvm" || dataset.format == "image_lines") {
    object["test_path"] = dataset.test_path;
    if (dataset.test_path.empty()) object["test_fraction"] = dataset.test_fraction;
  }
  if (dataset.format == "cifar") object["labels"] = find_name(cifar_label_names, dataset.labels);
  if (dataset.format == "image_folder" || dataset.format == "image_lines") {
    object["size"] = {dataset.height, dataset.width};
    object["channels"] = dataset.channels;
  }
  if (dataset.format == "image_folder") object["test_fraction"] = dataset.test_fraction;
  add_sequence_fields(dataset, object);
  if (dataset.format == "recsys") add_recsys_fields(dataset, object);
  if (dataset.normalize) object["normalize"] = normalize_to_json(*dataset.normalize);
  if (!dataset.augment.empty()) object["augment"] = augment_to_json(dataset.augment);
  return object;
}

}  // namespace trainyard

#include "runtime/data/libsvm.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/data/data_file.h"
#include "runtime/data/libsvm_line.h"
#include "runtime/data/sparse_set.h"
#include "schemas/base/utf8.h"

namespace trainyard::runtime {
namespace {

// Which file of the spec is read, and where in it the reader is.
struct Place {
  const std::string& field;  // "dataset.path"
  const std::string& path;
  std::int64_t line = 0;  // from 1; 0: the file as a whole

  [[nodiscard]] Error fault(const std::string& what) const {
    const std::string where = line == 0 ? "" : "line " + std::to_string(line) + ": ";
    return invalid("dataset: " + path + ": " + where + what);
  }
};

// Rows of both files, one after another, and the two labels that classes are made of.
class Reader {
 public:
  explicit Reader(const DatasetSpec& spec) : spec_(spec) { rows_.offsets.push_back(0); }

  // The number of examples that the file adds. Labels that come up in the first file are classes.
  Result<std::int64_t> read_file(const std::string& field, const std::string& path) {
    Place place{field, path};
    TRY_ASSIGN(const Descriptor opened, open_data_file(field, path));
    const auto rows_before = std::ssize(labels_);
    std::ifstream file(path_of(opened), std::ios::binary);
    LibsvmExample example;
    for (std::string line; std::getline(file, line);) {
      ++place.line;
      const std::string_view text = place.line == 1 ? without_byte_order_mark(line) : line;
      auto parsed = parse_libsvm_line(text, example);
      if (!parsed) return place.fault(parsed.error().message);
      if (*parsed) TRY(append(place, example));
    }
    if (!file.eof()) return invalid(field + ": " + path + " cannot be read");
    place.line = 0;
    if (std::ssize(labels_) == rows_before) return place.fault("has no examples");
    if (known_.size() < 2) {
      return place.fault("all labels are the same: one class only");
    }
    classes_closed_ = true;
    return std::ssize(labels_) - rows_before;
  }

  [[nodiscard]] std::int64_t features() const {
    return spec_.features > 0 ? spec_.features : largest_index_;
  }

  // Numbers: examples of the first file and of both, features. Arrays: offsets, columns, values,
  // classes.
  DecodedData take(std::int64_t first) && {
    std::ranges::sort(known_);
    std::vector<std::int32_t> classes;
    for (const double label : labels_) classes.push_back(label == known_[1] ? 1 : 0);
    return decoded_data({first, std::ssize(labels_), features()}, std::move(rows_.offsets),
                        std::move(rows_.columns), std::move(rows_.values), std::move(classes));
  }

 private:
  Status append(const Place& place, const LibsvmExample& example) {
    TRY(check_label(place, example.label));
    if (!example.columns.empty()) {
      const std::int64_t index = example.columns.back() + std::int64_t{1};
      if (spec_.features > 0 && index > spec_.features) {
        return place.fault("its last index is beyond dataset.features, " +
                           std::to_string(spec_.features));
      }
      largest_index_ = std::max(largest_index_, index);
    }
    rows_.columns.insert(rows_.columns.end(), example.columns.begin(), example.columns.end());
    rows_.values.insert(rows_.values.end(), example.values.begin(), example.values.end());
    rows_.offsets.push_back(std::ssize(rows_.columns));
    labels_.push_back(example.label);
    return ok();
  }

  Status check_label(const Place& place, double label) {
    if (std::ranges::find(known_, label) != known_.end()) return ok();
    if (classes_closed_) {
      return place.fault("its label is none of the training examples'");
    }
    if (known_.size() == 2) {
      return place.fault("its label is a third one: libsvm data must have two classes");
    }
    known_.push_back(label);
    return ok();
  }

  const DatasetSpec& spec_;
  SparseRows rows_;
  std::vector<double> labels_;  // by row, as in the files
  std::vector<double> known_;   // the two that occur
  bool classes_closed_ = false;
  std::int64_t largest_index_ = 0;
};

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

Result<DecodedData> decode(const DatasetSpec& spec) {
  Reader reader(spec);
  TRY_ASSIGN(const std::int64_t count, reader.read_file("dataset.path", spec.path));
  if (!spec.test_path.empty()) TRY(reader.read_file("dataset.test_path", spec.test_path));
  return std::move(reader).take(count);
}

bool is_sound(const DecodedData& data) {
  if (data.numbers.size() != 3 || data.arrays.size() != 4) return false;
  const std::int64_t rows = data.numbers[1];
  const auto offsets = array_of<std::int64_t>(data, 0);
  const auto columns = array_of<std::int32_t>(data, 1);
  const auto classes = array_of<std::int32_t>(data, 3);
  const auto is_class = [](std::int32_t label) { return label == 0 || label == 1; };
  const auto is_column = [&](std::int32_t at) { return at >= 0 && at < data.numbers[2]; };
  return std::ranges::all_of(columns, is_column) && data.numbers[0] > 0 &&
         data.numbers[0] <= rows && std::ssize(offsets) == rows + 1 && offsets.front() == 0 &&
         offsets.back() == std::ssize(columns) && std::ranges::is_sorted(offsets) &&
         array_of<float>(data, 2).size() == columns.size() && std::ssize(classes) == rows &&
         std::ranges::all_of(classes, is_class);
}

}  // namespace

DataShape libsvm_shape(std::int64_t features) {
  return {
      .example = {features}, .features = features, .classes = 2, .layout = FeatureLayout::sparse};
}

Result<std::unique_ptr<Dataset>> open_libsvm(const DatasetSpec& spec, std::uint64_t seed,
                                             const DataCache& cache) {
  DataCache::Source source{.reader = "libsvm 1, features " + std::to_string(spec.features),
                           .files = {spec.path}};
  if (!spec.test_path.empty()) source.files.push_back(spec.test_path);
  TRY_ASSIGN(const DecodedData data, cache.get(
                                         source, [&spec] { return decode(spec); }, is_sound));
  const std::int64_t first = data.numbers[0];
  const std::int64_t features = data.numbers[2];
  SplitRows rows;
  if (spec.test_path.empty()) {
    TRY_ASSIGN(rows, split_rows(spec, seed, first));
  } else {
    rows = {.train = numbers(0, first), .test = numbers(first, data.numbers[1] - first)};
  }
  TRY(keep_first_rows(spec, rows));
  if (features == 0) return invalid("dataset: " + spec.path + ": no example has a feature");
  SparseTable table{.rows = {.offsets = array_of<std::int64_t>(data, 0),
                             .columns = array_of<std::int32_t>(data, 1),
                             .values = array_of<float>(data, 2)},
                    .labels = array_of<std::int32_t>(data, 3),
                    .owner = data.owner};
  return std::unique_ptr<Dataset>(
      std::make_unique<SparseSet>(libsvm_shape(features), std::move(table), std::move(rows)));
}

}  // namespace trainyard::runtime

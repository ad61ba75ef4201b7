#include "runtime/data/libsvm.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

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

std::string text_of(double number) {
  std::array<char, 32> text{};  // the shortest that reads back: 24 characters at most
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

// Rows of both files, one after another, and the two labels that classes are made of.
class Reader {
 public:
  explicit Reader(const DatasetSpec& spec) : spec_(spec) { table_.rows.offsets.push_back(0); }

  // The number of examples that the file adds. Labels that come up in the first file are classes.
  Result<std::int64_t> read_file(const std::string& field, const std::string& path) {
    Place place{field, path};
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure)) {
      return not_found(field + ": there is no file " + path);
    }
    const auto rows_before = std::ssize(labels_);
    std::ifstream file(path, std::ios::binary);
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
      return place.fault("all labels are " + text_of(known_.front()) + ": one class only");
    }
    classes_closed_ = true;
    return std::ssize(labels_) - rows_before;
  }

  [[nodiscard]] std::int64_t features() const {
    return spec_.features > 0 ? spec_.features : largest_index_;
  }

  SparseTable take_table() && {
    std::ranges::sort(known_);
    for (const double label : labels_) table_.labels.push_back(label == known_[1] ? 1 : 0);
    return std::move(table_);
  }

 private:
  Status append(const Place& place, const LibsvmExample& example) {
    TRY(check_label(place, example.label));
    if (!example.columns.empty()) {
      const std::int64_t index = example.columns.back() + std::int64_t{1};
      if (spec_.features > 0 && index > spec_.features) {
        return place.fault("index " + std::to_string(index) + " is beyond dataset.features, " +
                           std::to_string(spec_.features));
      }
      largest_index_ = std::max(largest_index_, index);
    }
    SparseRows& rows = table_.rows;
    rows.columns.insert(rows.columns.end(), example.columns.begin(), example.columns.end());
    rows.values.insert(rows.values.end(), example.values.begin(), example.values.end());
    rows.offsets.push_back(std::ssize(rows.columns));
    labels_.push_back(example.label);
    return ok();
  }

  Status check_label(const Place& place, double label) {
    if (std::ranges::find(known_, label) != known_.end()) return ok();
    if (classes_closed_) {
      return place.fault("the label " + text_of(label) + " is none of the training examples'");
    }
    if (known_.size() == 2) {
      return place.fault("the label " + text_of(label) + " is a third one, after " +
                         text_of(known_[0]) + " and " + text_of(known_[1]) +
                         ": libsvm data must have two classes");
    }
    known_.push_back(label);
    return ok();
  }

  const DatasetSpec& spec_;
  SparseTable table_;
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

}  // namespace

Result<std::unique_ptr<Dataset>> open_libsvm(const DatasetSpec& spec, std::uint64_t seed) {
  Reader reader(spec);
  TRY_ASSIGN(const std::int64_t count, reader.read_file("dataset.path", spec.path));
  SplitRows rows;
  if (spec.test_path.empty()) {
    TRY_ASSIGN(rows, split_rows(spec, seed, count));
  } else {
    TRY_ASSIGN(const std::int64_t test, reader.read_file("dataset.test_path", spec.test_path));
    rows = {.train = numbers(0, count), .test = numbers(count, test)};
  }
  TRY(keep_first_rows(spec, rows));
  if (reader.features() == 0) {
    return invalid("dataset: " + spec.path + ": no example has a feature");
  }
  DataShape shape{.example = {reader.features()},
                  .features = reader.features(),
                  .classes = 2,
                  .layout = FeatureLayout::sparse};
  return std::unique_ptr<Dataset>(std::make_unique<SparseSet>(
      std::move(shape), std::move(reader).take_table(), std::move(rows)));
}

}  // namespace trainyard::runtime

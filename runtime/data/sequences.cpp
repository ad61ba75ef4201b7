#include "runtime/data/sequences.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/class_names.h"
#include "runtime/data/row_split.h"
#include "runtime/data/series_file.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

struct Series {
  std::span<const std::int64_t> offsets;  // [rows + 1] of `values`
  std::span<const float> values;
  std::span<const std::int32_t> labels;  // of labels and targets one is empty
  std::span<const float> targets;
  std::int64_t features = 1;          // numbers of a time step
  std::shared_ptr<const void> owner;  // of all of them
};

class SeriesSet final : public Dataset {
 public:
  SeriesSet(DataShape shape, Series series, SplitRows rows)
      : shape_(std::move(shape)), series_(std::move(series)), rows_(std::move(rows)) {}

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override { return std::ssize(rows(split)); }

 private:
  [[nodiscard]] const std::vector<std::int64_t>& rows(Split split) const {
    return split == Split::train ? rows_.train : rows_.test;
  }

  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override {
    const auto& indices = selection.indices;
    const auto& source = rows(selection.split);
    batch.features.assign(indices.size() * static_cast<std::size_t>(shape_.features), 0.0F);
    batch.lengths.resize(indices.size());
    batch.labels.resize(series_.labels.empty() ? 0 : indices.size());
    batch.targets.resize(series_.targets.empty() ? 0 : indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      ENSURE(indices[i] >= 0 && indices[i] < std::ssize(source));
      const auto row = static_cast<std::size_t>(source[static_cast<std::size_t>(indices[i])]);
      const std::int64_t count = series_.offsets[row + 1] - series_.offsets[row];
      std::copy_n(series_.values.begin() + series_.offsets[row], count,
                  batch.features.begin() + static_cast<std::int64_t>(i) * shape_.features);
      batch.lengths[i] = static_cast<std::int32_t>(count / series_.features);
      if (!batch.labels.empty()) batch.labels[i] = series_.labels[row];
      if (!batch.targets.empty()) batch.targets[i] = series_.targets[row];
    }
    return ok();
  }

  DataShape shape_;
  Series series_;
  SplitRows rows_;
};

// The most numbers of a row.
std::int64_t longest_of(std::span<const std::int64_t> offsets) {
  std::int64_t longest = 0;
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    longest = std::max(longest, offsets[row + 1] - offsets[row]);
  }
  return longest;
}

// Numbers: classes. Arrays: offsets, values, labels, targets, PackedNames of the classes.
Result<DecodedData> decode_series(const DatasetSpec& spec) {
  TRY_ASSIGN(SeriesTable table, read_series(spec));
  auto labels = read_labels(table.labels);
  if (!labels) return invalid("dataset: " + spec.path + ": " + labels.error().message);
  PackedNames names = pack_names(labels->names);
  return decoded_data({labels->classes}, std::move(table.offsets), std::move(table.values),
                      std::move(labels->labels), std::move(labels->targets), std::move(names.ends),
                      std::move(names.bytes));
}

bool is_sound_series(const DecodedData& data, const DatasetSpec& spec) {
  if (data.numbers.size() != 1 || data.arrays.size() != 6) return false;
  const auto offsets = array_of<std::int64_t>(data, 0);
  const auto labels = array_of<std::int32_t>(data, 2);
  const std::int64_t rows = std::ssize(offsets) - 1;
  const std::int64_t classes = data.numbers[0];
  const auto is_class = [classes](std::int32_t label) { return label >= 0 && label < classes; };
  const auto is_whole = [&spec](std::int64_t offset) { return offset % spec.features == 0; };
  return rows > 0 && offsets.front() == 0 &&
         offsets.back() == std::ssize(array_of<float>(data, 1)) &&
         std::ranges::adjacent_find(offsets, std::ranges::greater_equal()) == offsets.end() &&
         std::ranges::all_of(offsets, is_whole) &&
         (spec.sequence.length == 0 ||
          longest_of(offsets) <= spec.sequence.length * spec.features) &&
         std::ssize(labels) == (classes > 0 ? rows : 0) &&
         std::ssize(array_of<float>(data, 3)) == (classes > 0 ? 0 : rows) &&
         std::ranges::all_of(labels, is_class) && are_names(data, 4, classes);
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_sequences(const DatasetSpec& spec, std::uint64_t seed,
                                                const DataCache& cache) {
  // The length, too: a file that has a longer example is refused.
  const DataCache::Source source{.reader = "sequences 2 of " + std::to_string(spec.features) +
                                           " in " + std::to_string(spec.sequence.length) +
                                           ", labels in \"" + spec.label_column + "\"",
                                 .files = {spec.path}};
  TRY_ASSIGN(const DecodedData data,
             cache.get(
                 source, [&spec] { return decode_series(spec); },
                 [&spec](const DecodedData& found) { return is_sound_series(found, spec); }));
  Series series{.offsets = array_of<std::int64_t>(data, 0),
                .values = array_of<float>(data, 1),
                .labels = array_of<std::int32_t>(data, 2),
                .targets = array_of<float>(data, 3),
                .features = spec.features,
                .owner = data.owner};
  const std::int64_t longest = longest_of(series.offsets) / spec.features;
  const std::int64_t length = spec.sequence.length > 0 ? spec.sequence.length : longest;
  ENSURE(longest <= length);
  TRY_ASSIGN(SplitRows rows, split_rows(spec, seed, std::ssize(series.offsets) - 1));
  TRY(keep_first_rows(spec, rows));
  DataShape shape{.example = {length, spec.features},
                  .features = length * spec.features,
                  .classes = data.numbers[0],
                  .layout = FeatureLayout::sequence};
  shape.class_names = unpack_names(data, 4);
  return std::unique_ptr<Dataset>(
      std::make_unique<SeriesSet>(std::move(shape), std::move(series), std::move(rows)));
}

}  // namespace trainyard::runtime

#include "runtime/data/recsys.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "runtime/data/class_names.h"
#include "runtime/data/csv_text.h"
#include "runtime/data/data_file.h"
#include "runtime/data/labels.h"
#include "runtime/data/recsys_columns.h"
#include "runtime/data/recsys_ids.h"
#include "runtime/data/recsys_set.h"
#include "runtime/data/recsys_vocabulary.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

using RecsysCells = std::vector<std::string>;

constexpr std::streamsize line_bytes_max = std::streamsize{1} << 20;
constexpr std::int64_t ids_max = 2'147'483'647;
constexpr std::int64_t no_label = -1;  // in place of a number of classes

Error bad_recsys_line(const DatasetSpec& spec, std::int64_t line, const std::string& what) {
  return bad_data(spec.path, "line " + std::to_string(line) + what);
}

// Lines as they stand in the file, but for the ids, which are numbered.
class RecsysReader {
 public:
  explicit RecsysReader(const DatasetSpec& spec) : spec_(spec), ids_(spec.recsys) {}

  Status read() {
    TRY_ASSIGN(const Descriptor opened, open_data_file("dataset.path", spec_.path));
    std::ifstream file(path_of(opened), std::ios::binary);
    std::string buffer(static_cast<std::size_t>(line_bytes_max), '\0');
    for (std::int64_t line = 1; file.getline(buffer.data(), line_bytes_max); ++line) {
      const std::streamsize bytes = file.gcount();
      std::string_view text(buffer.data(), static_cast<std::size_t>(bytes));
      if (text.ends_with('\0') && !file.eof()) text.remove_suffix(1);  // in place of the line's end
      TRY(read_line(text, line));
    }
    if (!file.eof()) {
      return file.bad() || file.gcount() == 0
                 ? invalid("dataset.path: " + spec_.path + " cannot be read")
                 : bad_data(spec_.path, "a line is longer than 1 MiB");
    }
    if (rows_ == 0) return bad_data(spec_.path, "has no rows");
    return ok();
  }

  // Numbers: rows, numbers of a row, classes or no_label. Arrays: numbers, ids, labels, targets,
  // of each column of ids how many there are, a vocabulary's values, PackedNames of the classes.
  Result<DecodedData> take() && {
    std::vector<std::int64_t> about{rows_, std::ssize(columns_.numeric), no_label};
    Labels labels;
    if (columns_.label) {
      auto read = read_labels(labels_);
      if (!read) return bad_data(spec_.path, read.error().message);
      labels = *std::move(read);
      about[2] = labels.classes;
    }
    NumberedIds numbered = std::move(ids_).take();
    PackedNames names = pack_names(labels.names);
    return decoded_data(std::move(about), std::move(numbers_), std::move(numbered.ids),
                        std::move(labels.labels), std::move(labels.targets),
                        std::move(numbered.counts), std::move(numbered.values),
                        std::move(names.ends), std::move(names.bytes));
  }

 private:
  Status read_line(std::string_view text, std::int64_t line) {
    const char separators[] = {',', '\t', ';'};
    CsvText csv(text, separators[static_cast<std::size_t>(spec_.recsys.separator)]);
    auto more = csv.next(cells_);
    if (!more) return bad_recsys_line(spec_, line, ": a quote is not closed, or text follows one");
    if (!*more) return ok();
    const auto again = csv.next(behind_);
    if (!again || *again) return bad_recsys_line(spec_, line, " has a carriage return within it");
    if (columns_.count == 0) {
      auto found = find_recsys_columns(spec_, cells_);
      if (!found) return bad_data(spec_.path, found.error().message);
      columns_ = *std::move(found);
      ids_.set_columns(columns_.ids, names_of_id_columns());
      if (spec_.recsys.has_header) return ok();
    }
    if (cells_.size() != columns_.count) {
      return bad_recsys_line(spec_, line,
                             " has " + std::to_string(cells_.size()) + " cells, the first has " +
                                 std::to_string(columns_.count));
    }
    for (const std::size_t column : columns_.numeric) TRY(add_number(column, line));
    auto added = ids_.add(cells_);
    if (!added) return bad_recsys_line(spec_, line, ": " + added.error().message);
    ++rows_;
    if (!columns_.label) return ok();
    if (cells_[*columns_.label].empty()) return bad_recsys_line(spec_, line, " has an empty label");
    labels_.push_back({cells_[*columns_.label], line});
    return ok();
  }

  // However the spec names them, so that the same ids have the same vocabulary: by the first line
  // where it has names, else by position. Its cells are those of that line still.
  [[nodiscard]] std::vector<std::string> names_of_id_columns() const {
    std::vector<std::string> names;
    for (const std::size_t at : columns_.ids) {
      names.push_back(spec_.recsys.has_header ? cells_[at] : std::to_string(at));
    }
    return names;
  }

  Status add_number(std::size_t column, std::int64_t line) {
    const std::string& cell = cells_[column];
    const std::optional<float> value = cell.empty() ? 0.0F : parse_number(cell);
    if (!value) {
      return bad_recsys_line(
          spec_, line,
          ", column " + std::to_string(column) + " (counted from 0): expected a finite number");
    }
    numbers_.push_back(*value);
    return ok();
  }

  const DatasetSpec& spec_;
  RecsysFileColumns columns_;
  IdNumbering ids_;
  RecsysCells cells_;
  RecsysCells behind_;  // the line's record: there is to be none
  std::int64_t rows_ = 0;
  std::vector<float> numbers_;
  std::vector<LabelCell> labels_;
};

Result<DecodedData> decode_recsys(const DatasetSpec& spec) {
  RecsysReader reader(spec);
  TRY(reader.read());
  return std::move(reader).take();
}

bool is_sound_recsys(const DecodedData& data) {
  if (data.numbers.size() != 3 || data.arrays.size() != 8) return false;
  const std::int64_t rows = data.numbers[0];
  const std::int64_t classes = data.numbers[2];
  const auto counts = array_of<std::int64_t>(data, 4);
  const std::int64_t columns = std::ssize(counts);
  const auto ids = array_of<std::int32_t>(data, 1);
  const auto labels = array_of<std::int32_t>(data, 2);
  if (rows < 1 || columns < 1 || data.numbers[1] < 0 || std::ssize(ids) % columns != 0 ||
      std::ssize(ids) / columns != rows) {
    return false;
  }
  const auto is_count = [](std::int64_t count) { return count >= 1 && count <= ids_max; };
  if (!std::ranges::all_of(counts, is_count)) return false;
  const auto values = array_of<char>(data, 5);
  if (!values.empty() && !has_a_line_for_each(values, counts)) return false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t count = counts[i % counts.size()];
    if (ids[i] < 0 || ids[i] >= count) return false;
  }
  const auto is_class = [classes](std::int32_t label) { return label >= 0 && label < classes; };
  const auto numbers = std::ssize(array_of<float>(data, 0));
  const bool has_numbers =
      data.numbers[1] == 0 ? numbers == 0
                           : numbers % data.numbers[1] == 0 && numbers / data.numbers[1] == rows;
  return has_numbers && std::ssize(labels) == (classes > 0 ? rows : 0) &&
         std::ssize(array_of<float>(data, 3)) == (classes == 0 ? rows : 0) &&
         std::ranges::all_of(labels, is_class) && are_names(data, 6, classes);
}

// All that the decoded data depends on.
std::string recsys_reader_of(const DatasetSpec& spec) {
  const RecsysSpec& recsys = spec.recsys;
  std::string text = "recsys 5";
  const auto add = [&text](const std::string& part) {
    text.append(" ").append(std::to_string(part.size())).append(":").append(part);
  };
  add(std::to_string(static_cast<int>(recsys.separator)));
  add(recsys.has_header ? "header" : "");
  add(recsys.has_label ? spec.label_column : "");
  add(std::to_string(recsys.hash_buckets));
  add(std::to_string(recsys.vocabulary));
  const auto add_list = [&add](const std::vector<std::string>& columns) {
    add(std::to_string(columns.size()));
    for (const std::string& column : columns) add(column);
  };
  add_list(recsys.numeric);
  add_list(distinct_id_columns(recsys));
  return text;
}

struct IdFields {
  std::vector<IdFieldShape> shapes;
  std::vector<std::vector<FieldColumn>> columns;
};

// `counts`: of the table's columns of ids. Hashes are of one range, vocabularies of one each.
Result<IdFields> id_fields_of(const DatasetSpec& spec, std::span<const std::int64_t> counts) {
  IdFields fields;
  std::unordered_map<std::string, std::int64_t> columns_of;
  for (const std::string& name : distinct_id_columns(spec.recsys)) {
    columns_of.emplace(name, std::ssize(columns_of));
  }
  for (const IdColumns& field : spec.recsys.fields) {
    IdFieldShape shape{.name = field.field, .example = {}, .ids = 0};
    if (!field.is_single) shape.example = {std::ssize(field.columns)};
    std::vector<FieldColumn>& columns = fields.columns.emplace_back();
    for (const std::string& name : field.columns) {
      const std::int64_t column = columns_of.at(name);
      const bool is_hashed = spec.recsys.hash_buckets > 0;
      const auto first = static_cast<std::int32_t>(is_hashed ? 0 : shape.ids);
      columns.push_back({.column = column, .first_id = first});
      const std::int64_t count = counts[static_cast<std::size_t>(column)];
      shape.ids = is_hashed ? count : shape.ids + count;
      if (shape.ids > ids_max) {
        return bad_data(spec.path, "the field \"" + field.field + "\" has more than 2^31 ids");
      }
    }
    fields.shapes.push_back(std::move(shape));
  }
  return fields;
}

// Fields of one number behind the numeric ones; the columns of ids that they count.
std::vector<std::int64_t> add_log_frequencies(const DatasetSpec& spec, DataShape& shape) {
  std::vector<std::int64_t> counted;
  const std::vector<std::string> distinct = distinct_id_columns(spec.recsys);
  for (const LogFrequency& each : spec.recsys.log_frequencies) {
    const auto field = std::ranges::find(spec.recsys.fields, each.of, &IdColumns::field);
    ENSURE(field != spec.recsys.fields.end() && field->is_single);
    counted.push_back(std::ranges::find(distinct, field->columns.front()) - distinct.begin());
    shape.log_frequency_fields.push_back(each.field);
    ++shape.features;
  }
  shape.example = {shape.features};
  return counted;
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_recsys(const DatasetSpec& spec, std::uint64_t seed,
                                             const DataCache& cache) {
  const DataCache::Source source{.reader = recsys_reader_of(spec), .files = {spec.path}};
  TRY_ASSIGN(const DecodedData data,
             cache.get(
                 source, [&spec] { return decode_recsys(spec); }, is_sound_recsys));
  const auto counts = array_of<std::int64_t>(data, 4);
  if (counts.size() != distinct_id_columns(spec.recsys).size() ||
      data.numbers[1] != std::ssize(spec.recsys.numeric) ||
      array_of<char>(data, 5).empty() != (spec.recsys.hash_buckets > 0)) {
    return bad_data(spec.path, "was decoded for other columns");
  }
  TRY_ASSIGN(SplitRows rows, split_rows(spec, seed, data.numbers[0]));
  TRY(keep_first_rows(spec, rows));
  TRY_ASSIGN(IdFields fields, id_fields_of(spec, counts));
  TRY_ASSIGN(std::string words, vocabulary_text({.fields = fields.shapes,
                                                 .columns = fields.columns,
                                                 .values = array_of<char>(data, 5),
                                                 .counts = counts}));
  const std::int64_t classes = data.numbers[2];
  DataShape shape{.example = {data.numbers[1]},
                  .features = data.numbers[1],
                  .classes = std::max<std::int64_t>(classes, 0),
                  .layout = FeatureLayout::columns,
                  .labels = classes == no_label ? LabelLayout::none : LabelLayout::one,
                  .id_fields = std::move(fields.shapes)};
  shape.class_names = unpack_names(data, 6);
  RecsysTable table{.numbers = array_of<float>(data, 0),
                    .ids = array_of<std::int32_t>(data, 1),
                    .columns = std::ssize(counts),
                    .labels = array_of<std::int32_t>(data, 2),
                    .targets = array_of<float>(data, 3),
                    .words = std::move(words),
                    .owner = data.owner};
  std::vector<std::int64_t> counted = add_log_frequencies(spec, shape);
  return std::unique_ptr<Dataset>(std::make_unique<RecsysSet>(std::move(shape), std::move(table),
                                                              std::move(fields.columns),
                                                              std::move(counted), std::move(rows)));
}

}  // namespace trainyard::runtime

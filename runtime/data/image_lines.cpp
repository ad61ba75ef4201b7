#include "runtime/data/image_lines.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/csv_text.h"
#include "runtime/data/row_split.h"
#include "runtime/data/symbols.h"
#include "runtime/data/text_file.h"
#include "schemas/base/log.h"
#include "schemas/base/utf8.h"

namespace trainyard::runtime {
namespace {

using LineCells = std::vector<std::string>;

// CTC's time and memory go with the length.
constexpr std::int64_t text_length_max = 65'536;

Error bad_line(const std::string& path, std::int64_t line, const std::string& what) {
  return invalid("dataset: " + path + ": line " + std::to_string(line) + ": " + what);
}

struct LineColumns {
  std::size_t file = 0;
  std::size_t text = 1;
  bool has_header = false;
};

LineColumns find_line_columns(const LineCells& first) {
  const auto file = std::ranges::find(first, "file");
  const auto text = std::ranges::find(first, "text");
  if (file == first.end() || text == first.end()) return {};
  return {.file = static_cast<std::size_t>(file - first.begin()),
          .text = static_cast<std::size_t>(text - first.begin()),
          .has_header = true};
}

struct Lines {
  std::vector<std::string> paths;
  SymbolLists labels;
  std::int64_t left_out = 0;
};

// Nothing but a file below the folder of the CSV file.
bool is_below(const std::string& file) {
  return !file.empty() && !file.starts_with('/') &&
         ("/" + file + "/").find("/../") == std::string::npos;
}

// A CSV file, and the field of the spec that names it.
struct LineFile {
  const char* field = "dataset.path";
  std::string path;
};

class LineReader {
 public:
  LineReader(const DatasetSpec& spec, std::int64_t label_steps)
      : spec_(spec), label_steps_(label_steps), alphabet_(spec.sequence.alphabet) {}

  // Adds the file's lines to those of the files before it.
  Status read(const LineFile& file) {
    path_ = file.path;
    folder_ = file.path.substr(0, file.path.rfind('/') + 1);
    const std::size_t lines_before = lines_.paths.size();
    TRY_ASSIGN(const std::string content, read_text_file(file.field, path_));
    CsvText csv(content);
    LineCells cells;
    LineColumns columns;
    for (bool is_first = true;; is_first = false) {
      auto more = csv.next(cells);
      if (!more) return invalid("dataset: " + path_ + ": " + more.error().message);
      if (!*more) break;
      if (is_first) columns = find_line_columns(cells);
      if (is_first && columns.has_header) continue;
      if (std::max(columns.file, columns.text) >= cells.size()) {
        return bad_line(path_, csv.line(), "has no file and text");
      }
      TRY(append(csv.line(), cells[columns.file], cells[columns.text]));
    }
    if (lines_.paths.size() == lines_before) return invalid("dataset: " + path_ + ": has no rows");
    return ok();
  }
  [[nodiscard]] const Lines& lines() const { return lines_; }

 private:
  Status append(std::int64_t line, const std::string& file, const std::string& text) {
    if (!is_below(file)) {
      return bad_line(path_, line, "its file is not one below the folder of this file");
    }
    if (!is_valid_utf8(text)) return bad_line(path_, line, "its text is not UTF-8");
    const auto symbols = alphabet_.read(text);
    if (!symbols) {
      return bad_line(path_, line, "its text has a character that is not in dataset.alphabet");
    }
    if (std::ssize(*symbols) > text_length_max) {
      return bad_line(path_, line,
                      "its text has more than " + std::to_string(text_length_max) + " characters");
    }
    const std::int64_t needed = steps_needed(*symbols);
    if (label_steps_ == 0 || needed <= label_steps_) {
      lines_.paths.push_back(folder_ + file);
      lines_.labels.push_back(*symbols);
      return ok();
    }
    if (spec_.sequence.impossible == ImpossibleLabels::refuse) {
      return bad_line(path_, line,
                      "its text needs " + std::to_string(needed) +
                          " time steps, the model's scores have " + std::to_string(label_steps_) +
                          R"( ("impossible": "skip" leaves such lines out))");
    }
    ++lines_.left_out;
    return ok();
  }

  const DatasetSpec& spec_;
  std::int64_t label_steps_;
  Alphabet alphabet_;
  std::string path_;    // of the file that is read
  std::string folder_;  // that it is in
  Lines lines_;
};

// Which lines are for training and which for the test, by number.
Result<SplitRows> split_lines(const DatasetSpec& spec, std::uint64_t seed, std::int64_t count,
                              std::int64_t of_path) {
  if (spec.test_path.empty()) return split_rows(spec, seed, count);
  SplitRows rows;
  for (std::int64_t row = 0; row < count; ++row) {
    (row < of_path ? rows.train : rows.test).push_back(row);
  }
  return rows;
}

class LineSet final : public Dataset {
 public:
  // The images are of the shape.
  LineSet(DataShape shape, std::unique_ptr<const ImageSet> images,
          std::array<SymbolLists, 2> labels)
      : shape_(std::move(shape)), images_(std::move(images)), labels_(std::move(labels)) {}

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override { return images_->size(split); }
  [[nodiscard]] Status prepare(Split split) const override { return images_->prepare(split); }

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override {
    TRY(images_->read(selection, batch));
    batch.labels.clear();  // images have a class each
    begin_symbols(batch);
    const SymbolLists& labels = labels_[selection.split == Split::train ? 0 : 1];
    for (const std::int64_t index : selection.indices) {
      append_symbols(labels[static_cast<std::size_t>(index)], batch);
    }
    return ok();
  }

  DataShape shape_;
  std::unique_ptr<const ImageSet> images_;
  std::array<SymbolLists, 2> labels_;  // by split
};

}  // namespace

Result<std::unique_ptr<Dataset>> open_image_lines(const DatasetSpec& spec, std::uint64_t seed,
                                                  const LineAccess& access) {
  LineReader line_reader(spec, access.label_steps);
  TRY(line_reader.read({.path = spec.path}));
  const Lines& lines = line_reader.lines();
  const std::int64_t of_path = std::ssize(lines.paths);
  if (!spec.test_path.empty()) {
    TRY(line_reader.read({.field = "dataset.test_path", .path = spec.test_path}));
  }
  if (lines.left_out > 0) {
    log_warning("data", {{"message", spec.path + ": texts that need more time steps than the "
                                                 "model's scores have are left out"},
                         {"left_out", lines.left_out}});
  }
  TRY_ASSIGN(SplitRows rows, split_lines(spec, seed, std::ssize(lines.paths), of_path));
  TRY(keep_first_rows(spec, rows));
  const ImageShape image{.height = spec.height, .width = spec.width, .channels = spec.channels};
  DataShape shape{.example = {image.height, image.width, image.channels},
                  .features = static_cast<std::int64_t>(image.bytes()),
                  .labels = LabelLayout::symbols,
                  .symbols = Alphabet(spec.sequence.alphabet).symbols()};
  TRY_ASSIGN(ImageReader reader, ImageReader::make(spec, seed, shape.example));
  std::array<ImageSet::Part, 2> parts;
  std::array<SymbolLists, 2> labels;
  for (std::size_t split = 0; split < 2; ++split) {
    FileImages files{.paths = {}, .shape = image, .fit = ImageFit::line, .access = access.files};
    for (const std::int64_t row : split == 0 ? rows.train : rows.test) {
      files.paths.push_back(lines.paths[static_cast<std::size_t>(row)]);
      labels[split].push_back(lines.labels[static_cast<std::size_t>(row)]);
    }
    const std::size_t examples = files.paths.size();
    parts[split] = {.examples = static_cast<std::int64_t>(examples),
                    .read = [files = std::move(files), examples]() -> Result<ImageSplit> {
                      TRY_ASSIGN(ImageSplit opened, open_file_images(files));
                      opened.labels.assign(examples, 0);
                      return opened;
                    }};
  }
  auto images = std::make_unique<const ImageSet>(shape, std::move(reader), std::move(parts),
                                                 access.files.threads);
  return std::unique_ptr<Dataset>(
      std::make_unique<LineSet>(std::move(shape), std::move(images), std::move(labels)));
}

}  // namespace trainyard::runtime

#include "runtime/data/text_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/data/csv_text.h"
#include "runtime/data/data_file.h"
#include "runtime/data/labels.h"
#include "runtime/data/row_split.h"
#include "runtime/data/text_file.h"
#include "runtime/data/tokenizer.h"
#include "schemas/base/utf8.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t folder_file_bytes_max = std::int64_t{64} << 20;

using TextCells = std::vector<std::string>;

std::string not_utf8(std::int64_t line) {
  return "line " + std::to_string(line) + " is not UTF-8, which all tokenizers but \"bytes\" need";
}

struct TextColumn {
  std::size_t index = 0;
  bool is_named = false;  // in the first line, which is a header then
};

// `otherwise` is the column where the spec names none.
Result<TextColumn> find_column(const DatasetSpec& spec, const std::string& field,
                               const std::string& wanted, const TextCells& first,
                               std::size_t otherwise) {
  if (wanted.empty()) return TextColumn{.index = otherwise};
  if (const std::optional<std::int64_t> position = parse_whole_number(wanted)) {
    if (*position < std::ssize(first))
      return TextColumn{.index = static_cast<std::size_t>(*position)};
    return bad_data(spec.path, "dataset." + field + " is " + wanted + ", but there are " +
                                   std::to_string(first.size()) + " columns, counted from 0");
  }
  const auto found = std::ranges::find(first, wanted);
  if (found == first.end()) {
    return bad_data(spec.path,
                    "dataset." + field + ": the first line names no column \"" + wanted + "\"");
  }
  return TextColumn{.index = static_cast<std::size_t>(found - first.begin()), .is_named = true};
}

struct TextColumns {
  std::size_t count = 0;
  std::size_t text = 0;
  std::size_t label = 0;
  bool has_header = false;
};

Result<TextColumns> find_text_columns(const DatasetSpec& spec, const TextCells& first) {
  TRY_ASSIGN(const TextColumn text,
             find_column(spec, "text_column", spec.sequence.text_column, first, 0));
  TRY_ASSIGN(const TextColumn label,
             find_column(spec, "label_column", spec.label_column, first, first.size() - 1));
  if (text.index == label.index) {
    return bad_data(spec.path, "the text's column and the label's are the same, column " +
                                   std::to_string(text.index) + " (counted from 0)");
  }
  return TextColumns{.count = first.size(),
                     .text = text.index,
                     .label = label.index,
                     .has_header = text.is_named || label.is_named};
}

struct TextRows {
  std::vector<std::string> texts;
  std::vector<LabelCell> labels;
};

Status append_text(const DatasetSpec& spec, const TextColumns& columns, std::int64_t line,
                   TextCells& cells, TextRows& rows) {
  const std::string where = "line " + std::to_string(line);
  if (cells.size() != columns.count) {
    return bad_data(spec.path, where + " has " + std::to_string(cells.size()) +
                                   " cells, the first has " + std::to_string(columns.count));
  }
  if (cells[columns.label].empty()) return bad_data(spec.path, where + " has an empty label");
  std::string& text = cells[columns.text];
  if (needs_utf8(spec.sequence.tokenizer.name) && !is_valid_utf8(text)) {
    return bad_data(spec.path, not_utf8(line));
  }
  rows.texts.push_back(std::move(text));
  rows.labels.push_back({std::move(cells[columns.label]), line});
  return ok();
}

Result<TextRows> read_text_rows(const DatasetSpec& spec) {
  TRY_ASSIGN(const std::string content, read_text_file("dataset.path", spec.path));
  CsvText csv(content);
  TextCells cells;
  TextColumns columns;
  TextRows rows;
  for (bool first = true;; first = false) {
    auto more = csv.next(cells);
    if (!more) return bad_data(spec.path, more.error().message);
    if (!*more) break;
    if (first) {
      TRY_ASSIGN(columns, find_text_columns(spec, cells));
      if (columns.has_header) continue;
    }
    TRY(append_text(spec, columns, csv.line(), cells, rows));
  }
  if (rows.texts.empty()) return bad_data(spec.path, "has no rows");
  return rows;
}

}  // namespace

Result<LabelledTexts> read_csv_texts(const DatasetSpec& spec, std::uint64_t seed) {
  TRY_ASSIGN(TextRows rows, read_text_rows(spec));
  auto labels = read_labels(rows.labels);
  if (!labels) return bad_data(spec.path, labels.error().message);
  TRY_ASSIGN(SplitRows split, split_rows(spec, seed, std::ssize(rows.texts)));
  TRY(keep_first_rows(spec, split));
  LabelledTexts all{.texts = {},
                    .train = std::ssize(split.train),
                    .classes = labels->classes,
                    .labels = {},
                    .targets = {},
                    .class_names = std::move(labels->names)};
  for (const auto& of_split : {split.train, split.test}) {
    for (const std::int64_t row : of_split) {
      const auto i = static_cast<std::size_t>(row);
      all.texts.push_back(std::move(rows.texts[i]));
      if (all.classes > 0) all.labels.push_back(labels->labels[i]);
      if (all.classes == 0) all.targets.push_back(labels->targets[i]);
    }
  }
  return all;
}

Result<LabelledTexts> read_folder_texts(const DatasetSpec& spec, const ClassFolders& folders) {
  LabelledTexts all{.texts = {},
                    .train = std::ssize(folders.splits[0]),
                    .classes = std::ssize(folders.classes),
                    .labels = {},
                    .targets = {},
                    .class_names = folders.classes};
  std::int64_t bytes = 0;
  for (const auto& files : folders.splits) {
    for (const ListedFile& file : files) {
      TRY_ASSIGN(std::string content,
                 read_text_file("dataset.path", file.path, folder_file_bytes_max));
      bytes += std::ssize(content);
      if (bytes > text_file_bytes_max) {
        return bad_data(spec.path, "its texts have more than " +
                                       std::to_string(text_file_bytes_max) + " bytes in all");
      }
      if (needs_utf8(spec.sequence.tokenizer.name)) {
        const std::int64_t line = line_not_utf8(content);
        if (line > 0) return bad_data(file.path, not_utf8(line));
        content.erase(0, content.size() - without_byte_order_mark(content).size());
      }
      all.texts.push_back(std::move(content));
      all.labels.push_back(file.label);
    }
  }
  return all;
}

}  // namespace trainyard::runtime

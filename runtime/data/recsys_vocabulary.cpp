#include "runtime/data/recsys_vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace trainyard::runtime {
namespace {

constexpr std::size_t vocabulary_bytes_max = std::size_t{1} << 30;

// Takes a line's text from the front of `lines`.
std::string_view take_line(std::string_view& lines) {
  const std::size_t end = lines.find('\n');
  const std::string_view line = lines.substr(0, end);
  lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  return line;
}

// The lines of each column.
std::vector<std::string_view> columns_of(std::string_view lines,
                                         std::span<const std::int64_t> counts) {
  std::vector<std::string_view> columns;
  for (const std::int64_t count : counts) {
    std::string_view rest = lines;
    for (std::int64_t i = 0; i < count; ++i) take_line(rest);
    columns.push_back(lines.substr(0, lines.size() - rest.size()));
    lines = rest;
  }
  return columns;
}

bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

// In quotes where a reader of CSV would take it for something else.
std::string cell_of(std::string_view value) {
  const bool has_blank_end = !value.empty() && (is_blank(value.front()) || is_blank(value.back()));
  if (!has_blank_end && value.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(value);
  }
  std::string cell = "\"";
  for (const char byte : value) cell.append(byte == '"' ? 2 : 1, byte);
  return cell + '"';
}

}  // namespace

void add_value_line(std::string_view value, std::vector<char>& lines) {
  lines.insert(lines.end(), value.begin(), value.end());
  lines.push_back('\n');
}

bool has_a_line_for_each(std::span<const char> lines, std::span<const std::int64_t> counts) {
  std::int64_t ids = 0;
  for (const std::int64_t count : counts) ids += count;
  return !lines.empty() && lines.back() == '\n' && std::ranges::count(lines, '\n') == ids;
}

Result<std::string> vocabulary_text(const RecsysVocabulary& vocabulary) {
  if (vocabulary.values.empty()) return std::string();
  const std::vector<std::string_view> columns =
      columns_of({vocabulary.values.data(), vocabulary.values.size()}, vocabulary.counts);
  std::string text = "field,column,id,value\n";
  for (std::size_t field = 0; field < vocabulary.fields.size(); ++field) {
    for (const FieldColumn& column : vocabulary.columns[field]) {
      std::string_view lines = columns[static_cast<std::size_t>(column.column)];
      const std::string head =
          cell_of(vocabulary.fields[field].name) + ',' + cell_of(take_line(lines)) + ',';
      text += head + std::to_string(column.first_id) + ",\n";
      for (std::int64_t id = column.first_id + 1; !lines.empty(); ++id) {
        text += head + std::to_string(id) + ',' + cell_of(take_line(lines)) + '\n';
        if (text.size() <= vocabulary_bytes_max) continue;
        return invalid(
            "dataset.vocabulary: its values are more than 1 GiB as they are saved with a "
            "checkpoint; a smaller vocabulary has fewer, and \"hash_buckets\" has none");
      }
    }
  }
  return text;
}

}  // namespace trainyard::runtime

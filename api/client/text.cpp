#include "api/client/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

#include "api/client/columns.h"
#include "schemas/base/check.h"
#include "schemas/base/utf8.h"

namespace trainyard::client {
namespace {

template <class... Numbers>
std::string printed(const char* format, Numbers... numbers) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, numbers...);
  return buffer.data();
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::string blanks(width - std::min(width, width_of(cell)), ' ');
  return align == Align::left ? cell + blanks : blanks + cell;
}

}  // namespace

std::string duration_text(Millis duration) {
  const long long whole_seconds = std::max<std::int64_t>(duration.count, 0) / 1000;
  const long long minutes = whole_seconds / 60;
  const long long hours = minutes / 60;
  if (duration.count < 10'000) {
    return printed("%.1fs", static_cast<double>(std::max<std::int64_t>(duration.count, 0)) / 1000);
  }
  if (minutes == 0) return printed("%llds", whole_seconds);
  if (hours == 0) return printed("%lldm %02llds", minutes, whole_seconds % 60);
  if (hours < 24) return printed("%lldh %02lldm", hours, minutes % 60);
  return printed("%lldd %02lldh", hours / 24, hours % 24);
}

std::string age_text(WallTime since, WallTime now) {
  return since.is_set() ? duration_text(now - since) : "-";
}

std::string clock_text(WallTime time) {
  const std::time_t in_seconds = time.unix_millis / 1000;
  std::tm local{};
  localtime_r(&in_seconds, &local);
  return printed("%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < units.size()) {
    size /= 1024;
    ++unit;
  }
  return printed(unit == 0 || size >= 100 ? "%.0f %s" : "%.1f %s", size, units[unit]);
}

std::string decimal_text(double number) {
  const double magnitude = number < 0 ? -number : number;
  if (magnitude != 0 && magnitude < 0.0001) return printed("%.3e", number);
  return magnitude < 10 ? printed("%.4f", number) : printed("%.6g", number);
}

std::string printable(std::string_view text) {
  std::string safe = to_valid_utf8(text);
  std::ranges::replace_if(
      safe, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  // U+0080..U+009F, the C1 controls, are C2 80..C2 9F; some terminals obey them.
  for (std::size_t i = 0; i + 1 < safe.size(); ++i) {
    if (safe[i] == '\xC2' && static_cast<unsigned char>(safe[i + 1]) < 0xA0)
      safe.replace(i, 2, "?");
  }
  // What turns the direction of writing, and so can show one text as another: U+200E, U+200F,
  // U+202A..U+202E, U+2066..U+2069 are E2 80 8E/8F, E2 80 AA..AE, E2 81 A6..A9.
  for (std::size_t i = 0; i + 2 < safe.size(); ++i) {
    if (!safe.substr(i, 2).starts_with("\xE2")) continue;
    const auto second = static_cast<unsigned char>(safe[i + 1]);
    const auto third = static_cast<unsigned char>(safe[i + 2]);
    const bool turns = (second == 0x80 && (third == 0x8E || third == 0x8F)) ||
                       (second == 0x80 && third >= 0xAA && third <= 0xAE) ||
                       (second == 0x81 && third >= 0xA6 && third <= 0xA9);
    if (turns) safe.replace(i, 3, "?");
  }
  return safe;
}

std::string PrintableLines::add(std::string_view piece) {
  const std::string bytes = cut_.append(piece);
  // The bytes of the last character, when not all that its first byte announces are there.
  std::size_t whole = bytes.size();
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    if (length > back) whole = bytes.size() - back;
    break;
  }
  cut_ = bytes.substr(whole);
  std::string text;
  for (std::size_t begin = 0; begin < whole;) {
    const std::size_t end = std::min(bytes.find_first_of("\n\t", begin), whole);
    text += printable(std::string_view(bytes).substr(begin, end - begin));
    if (end < whole) text += bytes[end];
    begin = end + 1;
  }
  return text;
}

std::string PrintableLines::finish() { return printable(std::exchange(cut_, {})); }

void Table::add(std::vector<std::string> row) {
  ENSURE(row.size() == columns_.size());
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths(std::size_t columns) const {
  std::vector<std::size_t> widths;
  std::size_t line = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
    line += width + (i == 0 ? 0 : 2);
  }
  while (line > columns) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t least = std::max(columns_[i].columns_min, width_of(columns_[i].title));
      const bool may_shrink = columns_[i].columns_min > 0 && widths[i] > least;
      if (may_shrink && (widest == columns_.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
    --line;
  }
  return widths;
}

std::string Table::text(std::size_t columns) const {
  const std::vector<std::size_t> wide = widths(columns);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line +=
          (i == 0 ? "" : "  ") + padded(shortened(cells[i], wide[i]), wide[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line(titles);
  for (const auto& row : rows_) add_line(row);
  return text;
}

}  // namespace trainyard::client

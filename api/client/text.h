// Numbers, times and names as people read them, and tables of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/time.h"

namespace trainyard::client {

std::string duration_text(Millis duration);          // "0.4s", "12s", "3m 05s", "2h 07m", "4d 03h"
std::string age_text(WallTime since, WallTime now);  // "3m 05s"; "-" when not set
std::string clock_text(WallTime time);               // "14:03:05", in the user's time zone
std::string grouped(std::int64_t number);            // "20,000"
std::string bytes_text(std::int64_t bytes);          // "318 KiB"
std::string decimal_text(double number);  // four significant digits: "0.9812", "1.234e-07"

// The text with control characters replaced by '?', so that no name or message of a job can move
// the cursor.
std::string printable(std::string_view text);
// The same for many lines, whose ends and tabs stay. Keeps back a character that is cut at the end
// of the piece until the next one comes.
class PrintableLines {
 public:
  std::string add(std::string_view piece);
  std::string finish();  // what was kept back

 private:
  std::string cut_;
};

enum class Align { left, right };
struct Column {
  std::string title;
  Align align = Align::left;
  std::size_t columns_min = 0;  // where room is short its cells are cut, to no fewer; 0 = never
};

// Rows under their titles, columns as wide as their widest cell, two blanks between, no blanks at
// line ends. Of a line that would take more columns than there are, the widest cells of those that
// may are cut.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> row);  // one cell per column
  [[nodiscard]] std::string text(std::size_t columns = std::string::npos) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t columns) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace trainyard::client

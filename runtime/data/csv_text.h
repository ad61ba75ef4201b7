// Comma-separated values as text (RFC 4180): records of cells, quotes, either line ending. What
// cells mean is csv.h's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::runtime {

class CsvText {
 public:
  explicit CsvText(std::string_view text, char separator = ',');  // not copied

  // The next record that is not an empty line, into `cells`, blanks around unquoted cells cut off;
  // false at the end. `invalid` with the line's number where quotes are wrong.
  Result<bool> next(std::vector<std::string>& cells);

  // The line on which the record of the last next() began, from 1.
  [[nodiscard]] std::int64_t line() const { return record_line_; }

 private:
  Result<std::string> read_cell();
  Result<std::string> read_quoted();
  [[nodiscard]] bool at_end() const { return position_ == text_.size(); }
  [[nodiscard]] bool at(char c) const { return !at_end() && text_[position_] == c; }
  [[nodiscard]] bool at_line_end() const { return at_end() || at('\n') || at('\r'); }
  void skip_line_end();
  void skip_blanks();
  [[nodiscard]] bool at_blank() const;

  std::string_view text_;
  char separator_;
  std::size_t position_ = 0;
  std::int64_t line_ = 1;
  std::int64_t record_line_ = 1;
};

}  // namespace trainyard::runtime

#include "runtime/data/csv_text.h"

#include "schemas/base/utf8.h"

namespace trainyard::runtime {

CsvText::CsvText(std::string_view text, char separator)
    : text_(without_byte_order_mark(text)), separator_(separator) {}

Result<bool> CsvText::next(std::vector<std::string>& cells) {
  cells.clear();
  skip_blanks();
  while (!at_end() && at_line_end()) {
    skip_line_end();
    skip_blanks();
  }
  if (at_end()) return false;
  record_line_ = line_;
  while (true) {
    TRY_ASSIGN(std::string cell, read_cell());
    cells.push_back(std::move(cell));
    if (at_line_end()) break;
    ++position_;  // the separator
  }
  skip_line_end();
  return true;
}

Result<std::string> CsvText::read_cell() {
  skip_blanks();
  if (at('"')) return read_quoted();
  const std::size_t begin = position_;
  while (!at_line_end() && !at(separator_)) ++position_;
  std::string_view cell = text_.substr(begin, position_ - begin);
  while (cell.ends_with(' ') || cell.ends_with('\t')) cell.remove_suffix(1);
  return std::string(cell);
}

Result<std::string> CsvText::read_quoted() {
  const std::int64_t opened_on = line_;
  std::string cell;
  ++position_;
  while (true) {
    if (at_end()) {
      return invalid("line " + std::to_string(opened_on) + ": a quote is opened and never closed");
    }
    const char c = text_[position_++];
    if (c == '\n') ++line_;
    if (c != '"') {
      cell += c;
    } else if (at('"')) {  // a doubled quote is a quote
      cell += '"';
      ++position_;
    } else {
      break;
    }
  }
  skip_blanks();
  if (!at_line_end() && !at(separator_)) {
    return invalid("line " + std::to_string(line_) + ": text after a closing quote");
  }
  return cell;
}

void CsvText::skip_line_end() {
  if (at('\r')) ++position_;
  if (at('\n')) ++position_;
  ++line_;
}

void CsvText::skip_blanks() {
  while (at_blank()) ++position_;
}

// A tab that separates is none.
bool CsvText::at_blank() const { return at(' ') || (separator_ != '\t' && at('\t')); }

}  // namespace trainyard::runtime

#include "schemas/wire/json_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "schemas/base/utf8.h"

namespace trainyard {
namespace {

using nlohmann::json;

// Where a text ends, both numbers from 1, columns in characters.
std::string place_of(std::string_view read) {
  const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto line = 1 + std::ranges::count(read, '\n');
  const std::size_t last_end = read.rfind('\n');
  const std::string_view last_line =
      last_end == std::string_view::npos ? read : read.substr(last_end + 1);
  const auto column = std::max<std::ptrdiff_t>(1, std::ranges::count_if(last_line, is_start));
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// What the library found and expected, without its own prefix and without the text that it quotes:
// ": unexpected '}'; expected string literal".
std::string complaint_of(const json::exception& error) {
  std::string_view words = error.what();
  const std::size_t begin = words.find(" - ");
  if (begin == std::string_view::npos) return "";
  words.remove_prefix(begin + 3);
  const std::size_t quote = words.find("; last read: ");
  if (quote == std::string_view::npos) return ": " + std::string(words);
  std::string complaint = ": " + std::string(words.substr(0, quote));
  const std::size_t expected = words.rfind("; expected ");
  if (expected != std::string_view::npos && expected > quote && words.back() != '\'') {
    complaint += words.substr(expected);
  }
  return complaint;
}

// An object or array that is not at its end yet.
struct Level {
  json* container;  // within the document: stable, as only the innermost container grows
  std::string key;  // of the member that is being read, where the container is an object
};

std::string pointer_to_next(const std::vector<Level>& open) {
  std::string pointer;
  for (const Level& level : open) {
    // Of an array that is open: its last element, or with the innermost one the next.
    const std::size_t position = level.container->size() - (&level == &open.back() ? 0 : 1);
    pointer =
        child_pointer(pointer, level.container->is_object() ? level.key : std::to_string(position));
  }
  return pointer;
}

constexpr std::size_t faults_max = 20;  // so that the answer does not outgrow the question
constexpr std::size_t pointer_bytes_max = 64 * 1024;  // of all faults; one may be longer

// Builds the document from the parser's events. Returning false to the parser would end the parse:
// what is refused is skipped instead, so that all of the text is heard.
class DocumentBuilder final : public nlohmann::json_sax<json> {
 public:
  // `beyond`: which of the text's numbers, counted from 0, no double holds.
  DocumentBuilder(std::string_view text, std::vector<std::size_t> beyond)
      : text_(text), beyond_(std::move(beyond)) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put_number(value); }
  bool number_unsigned(number_unsigned_t value) override { return put_number(value); }
  bool number_float(number_float_t value, const string_t&) override { return put_number(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // never in text

  bool start_object(std::size_t) override { return enter(json::object()); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(json::array()); }
  bool end_array() override { return leave(); }

  bool key(string_t& name) override {
    if (is_skipping()) return true;
    Level& level = open_.back();
    level.key = std::move(name);
    if (!level.container->contains(level.key)) return true;
    note("is given twice");
    skips_next_ = true;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const json::exception& error) override {
    constexpr int number_out_of_range = 406;
    std::string place = place_of(text_.substr(0, position));
    if (error.id == number_out_of_range) {
      beyond_at_ = std::move(place);
    } else {
      not_json_ = NotJson{"not JSON: " + place + complaint_of(error)};
    }
    return false;
  }

  // Where the library ended its parse at a number that no double holds.
  [[nodiscard]] const std::optional<std::string>& beyond_at() const { return beyond_at_; }

  ParsedJson take() && {
    if (not_json_) return *std::move(not_json_);
    return std::move(document_);
  }

 private:
  [[nodiscard]] bool is_skipping() const { return skipped_levels_ > 0 || document_.is_cut; }

  // Whether the value that begins is one of the document's.
  bool takes() {
    if (is_skipping() || std::exchange(skips_next_, false)) return false;
    if (++values_ <= json_values_max) return true;
    // Three bytes of text can be a value of a hundred in memory.
    note("is one of more than " + std::to_string(json_values_max) + " values");
    document_.is_cut = true;
    return false;
  }

  json* add(json value) {
    if (open_.empty()) return &(document_.value = std::move(value));
    Level& level = open_.back();
    if (level.container->is_object()) {
      return &((*level.container)[level.key] = std::move(value));
    }
    level.container->push_back(std::move(value));
    return &level.container->back();
  }

  bool put(json value) {
    if (takes()) add(std::move(value));
    return true;
  }

  bool put_number(json value) {
    const bool is_beyond = std::ranges::binary_search(beyond_, numbers_++);
    if (!takes()) return true;
    if (is_beyond) {
      leave_out("holds a number that is out of range");
    } else {
      add(std::move(value));
    }
    return true;
  }

  bool enter(json container) {
    if (!takes()) {
      ++skipped_levels_;
    } else if (open_.size() < json_depth_max) {
      open_.push_back({add(std::move(container)), ""});
    } else {
      leave_out("is nested deeper than " + std::to_string(json_depth_max) + " levels");
      ++skipped_levels_;
    }
    return true;
  }

  bool leave() {
    if (skipped_levels_ > 0) {
      --skipped_levels_;
    } else {
      open_.pop_back();
    }
    return true;
  }

  // A null keeps its place, so that elements after it keep theirs.
  void leave_out(std::string message) {
    document_.left_out.push_back(pointer_to_next(open_));
    note(std::move(message));
    add(nullptr);
  }

  void note(std::string message) {
    if (document_.faults.size() == faults_max || pointer_bytes_ > pointer_bytes_max) {
      document_.faults.push_back({"", "has more faults like these"});
      document_.is_cut = true;
      return;
    }
    document_.faults.push_back({pointer_to_next(open_), std::move(message)});
    pointer_bytes_ += document_.faults.back().pointer.size();
  }

  std::string_view text_;
  std::vector<std::size_t> beyond_;  // ascending
  std::size_t numbers_ = 0;
  std::size_t values_ = 0;
  std::size_t pointer_bytes_ = 0;
  std::size_t skipped_levels_ = 0;
  bool skips_next_ = false;
  std::optional<std::string> beyond_at_;
  std::vector<Level> open_;
  JsonDocument document_;
  std::optional<NotJson> not_json_;
};

// By the grammar: -0.5e+3, but no 01, no 1. and no +1.
bool is_json_number(std::string_view text) {
  const auto skip_digits = [&text] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count > 0;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('0')) {
    text.remove_prefix(1);
  } else if (!skip_digits()) {
    return false;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!skip_digits()) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!skip_digits()) return false;
  }
  return text.empty();
}

bool is_beyond_double(std::string_view number) {
  constexpr std::size_t digits_max = 308;  // so many alone are within
  const bool may_be =
      number.size() > digits_max || number.find_first_of("eE") != std::string_view::npos;
  return may_be && is_json_number(number) &&
         std::isinf(std::strtod(std::string(number).c_str(), nullptr));
}

// The same text with a 0 in place of each number that no double holds, as long as it was: places
// stay. Which numbers these are is counted from 0.
struct BoundedNumbers {
  std::string text;
  std::vector<std::size_t> beyond;
};

BoundedNumbers bounded_numbers(std::string_view text) {
  BoundedNumbers bounded{std::string(text), {}};
  std::size_t numbers = 0;
  bool is_in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') is_in_string = !is_in_string;
    if (is_in_string && c == '\\') ++at;  // and what it escapes
    if (is_in_string || (c != '-' && (c < '0' || c > '9'))) continue;
    const std::size_t end = std::min(text.find_first_not_of("0123456789+-.eE", at), text.size());
    if (is_beyond_double(text.substr(at, end - at))) {
      bounded.text.replace(at, end - at, end - at, ' ');
      bounded.text[at] = '0';
      bounded.beyond.push_back(numbers);
    }
    ++numbers;
    at = end - 1;
  }
  return bounded;
}

}  // namespace

ParsedJson parse_json_text(std::string_view text) {
  if (!is_valid_utf8(text)) return NotJson{"not JSON: it is not UTF-8"};
  DocumentBuilder builder(text, {});
  json::sax_parse(text, &builder);
  if (!builder.beyond_at()) return std::move(builder).take();

  BoundedNumbers bounded = bounded_numbers(text);
  DocumentBuilder again(text, std::move(bounded.beyond));
  json::sax_parse(bounded.text, &again);
  // What is left of such numbers is part of what is none by the grammar: 1e400-5.
  if (again.beyond_at()) return NotJson{"not JSON: " + *again.beyond_at() + ": invalid number"};
  return std::move(again).take();
}

Result<json> parse_json(std::string_view text, std::string_view document) {
  ParsedJson parsed = parse_json_text(text);
  if (const auto* not_json = std::get_if<NotJson>(&parsed)) {
    return invalid(std::string(document) + ": " + not_json->message);
  }
  auto& read = std::get<JsonDocument>(parsed);
  if (!read.faults.empty()) return to_error(document, read.faults);
  return std::move(read.value);
}

std::string to_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string to_ordered_text(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string describe(const json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  constexpr std::size_t length_max = 60;
  const std::string text = to_text(value);
  return text.size() <= length_max ? text : to_valid_utf8(text.substr(0, length_max)) + "…";
}

}  // namespace trainyard

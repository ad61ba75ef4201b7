#include "schemas/wire/json_text.h"

#include <algorithm>
#include <cstddef>
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

// Builds the document from the parser's events; returning false to the parser ends the parse.
class DocumentBuilder final : public nlohmann::json_sax<json> {
 public:
  explicit DocumentBuilder(std::string_view text) : text_(text) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // never in text

  bool start_object(std::size_t) override { return enter(json::object()); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(json::array()); }
  bool end_array() override { return leave(); }

  bool key(string_t& name) override {
    Level& level = open_.back();
    level.key = std::move(name);
    if (level.container->contains(level.key)) return refuse("is given twice");
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const json::exception& error) override {
    constexpr int number_out_of_range = 406;
    if (error.id == number_out_of_range) return refuse("holds a number that is out of range");
    not_json_ = NotJson{"not JSON: " + place_of(text_.substr(0, position)) + complaint_of(error)};
    return false;
  }

  ParsedJson take() && {
    if (fault_) return *std::move(fault_);
    if (not_json_) return *std::move(not_json_);
    return std::move(root_);
  }

 private:
  struct Level {
    json* container;  // within root_: stable, as only the innermost container grows
    std::string key;  // of the member that is being read, where the container is an object
  };

  json* add(json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    Level& level = open_.back();
    if (level.container->is_object()) {
      return &((*level.container)[level.key] = std::move(value));
    }
    level.container->push_back(std::move(value));
    return &level.container->back();
  }

  // Three bytes of text can be a value of a hundred in memory.
  bool may_grow() {
    if (++values_ <= json_values_max) return true;
    return refuse("is one of more than " + std::to_string(json_values_max) + " values");
  }

  bool put(json value) {
    if (!may_grow()) return false;
    add(std::move(value));
    return true;
  }

  bool enter(json container) {
    if (!may_grow()) return false;
    if (open_.size() >= json_depth_max) {
      return refuse("is nested deeper than " + std::to_string(json_depth_max) + " levels");
    }
    open_.push_back({add(std::move(container)), ""});
    return true;
  }

  bool leave() {
    open_.pop_back();
    return true;
  }

  bool refuse(std::string message) {
    std::string pointer;
    for (const Level& level : open_) {
      // Of an array that is open: its last element, or with the innermost one the next.
      const std::size_t position = level.container->size() - (&level == &open_.back() ? 0 : 1);
      pointer = child_pointer(pointer,
                              level.container->is_object() ? level.key : std::to_string(position));
    }
    fault_ = Fault{std::move(pointer), std::move(message)};
    return false;
  }

  std::string_view text_;
  json root_;
  std::size_t values_ = 0;
  std::vector<Level> open_;
  std::optional<Fault> fault_;
  std::optional<NotJson> not_json_;
};

}  // namespace

ParsedJson parse_json_text(std::string_view text) {
  if (!is_valid_utf8(text)) return NotJson{"not JSON: it is not UTF-8"};
  DocumentBuilder builder(text);
  json::sax_parse(text, &builder);
  return std::move(builder).take();
}

Result<json> parse_json(std::string_view text, std::string_view document) {
  ParsedJson parsed = parse_json_text(text);
  if (const auto* fault = std::get_if<Fault>(&parsed)) return to_error(document, {*fault});
  if (const auto* not_json = std::get_if<NotJson>(&parsed)) {
    return invalid(std::string(document) + ": " + not_json->message);
  }
  return std::get<json>(std::move(parsed));
}

std::string to_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string child_pointer(std::string_view parent, std::string_view key) {
  std::string pointer(parent);
  pointer += '/';
  for (const char letter : key) {
    if (letter == '~') {
      pointer += "~0";
    } else if (letter == '/') {
      pointer += "~1";
    } else {
      pointer += letter;
    }
  }
  return pointer;
}

std::string describe(const json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  constexpr std::size_t length_max = 60;
  const std::string text = to_text(value);
  return text.size() <= length_max ? text : to_valid_utf8(text.substr(0, length_max)) + "…";
}

}  // namespace trainyard

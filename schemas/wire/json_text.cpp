#include "schemas/wire/json_text.h"

#include <optional>
#include <utility>
#include <vector>

#include "schemas/base/utf8.h"

namespace trainyard {
namespace {

using nlohmann::json;

// Builds the document from the parser's events; returning false to the parser ends the parse.
class DocumentBuilder final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
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
    not_json_ = NotJson{"not JSON: error at byte " + std::to_string(position)};
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

  bool enter(json container) {
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

  json root_;
  std::vector<Level> open_;
  std::optional<Fault> fault_;
  std::optional<NotJson> not_json_;
};

}  // namespace

ParsedJson parse_json_text(std::string_view text) {
  if (!is_valid_utf8(text)) return NotJson{"not JSON: it is not UTF-8"};
  DocumentBuilder builder;
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

#include "api/http/accept.h"

#include <algorithm>
#include <charconv>

namespace trainyard::api {
namespace {

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// What stands before the mark, which is taken away from the text with it.
std::string_view take_until(std::string_view& text, char mark) {
  const std::string_view part = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return without_blanks(part);
}

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_same(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, {}, lower, lower);
}

// 1 where none is given; 0 where it is no weight.
double weight_in(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = take_until(parameters, ';');
    if (!is_same(take_until(value, '='), "q")) continue;
    double weight = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), weight);
    const bool is_whole = error == std::errc() && end == value.data() + value.size();
    return is_whole && weight >= 0 && weight <= 1 ? weight : 0;
  }
  return 1;
}

}  // namespace

bool prefers_to_json(std::string_view accept, std::string_view type) {
  double best = 0;
  bool is_type = false;
  while (!accept.empty()) {
    std::string_view parameters = take_until(accept, ',');
    const std::string_view name = take_until(parameters, ';');
    const bool names_type = is_same(name, type);
    if (!names_type && !is_same(name, "application/json")) continue;
    const double weight = weight_in(parameters);
    if (weight <= best) continue;
    best = weight;
    is_type = names_type;
  }
  return is_type;
}

}  // namespace trainyard::api

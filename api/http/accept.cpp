#include "api/http/accept.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>

#include "schemas/base/ascii.h"

namespace trainyard::api {
namespace {

// What stands before the mark, which is taken away from the text with it.
std::string_view take_until(std::string_view& text, char mark) {
  const std::string_view part = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return trim(part);
}

// 1 where none is given; 0 where it is no weight.
double weight_in(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = take_until(parameters, ';');
    if (!is_same_text(take_until(value, '='), "q")) continue;
    double weight = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), weight);
    const bool is_whole = error == std::errc() && end == value.data() + value.size();
    return is_whole && weight >= 0 && weight <= 1 ? weight : 0;
  }
  return 1;
}

struct Named {
  double weight = 0;
  std::size_t place = 0;  // in the list
};

}  // namespace

bool prefers_to_json(std::string_view accept, std::string_view type) {
  std::optional<Named> wanted;
  std::optional<Named> json;
  std::optional<Named> anything;
  for (std::size_t place = 0; !accept.empty(); ++place) {
    std::string_view parameters = take_until(accept, ',');
    const std::string_view name = take_until(parameters, ';');
    const Named named{weight_in(parameters), place};
    if (is_same_text(name, type)) {
      wanted = wanted.value_or(named);
    } else if (is_same_text(name, "application/json")) {
      json = json.value_or(named);
    } else if (name == "*/*" || is_same_text(name, "application/*")) {
      if (!anything || named.weight > anything->weight) anything = named;
    }
  }
  if (!wanted || wanted->weight <= 0) return false;
  const std::optional<Named> other = json ? json : anything;
  if (!other || wanted->weight != other->weight) return !other || wanted->weight > other->weight;
  return wanted->place < other->place;
}

}  // namespace trainyard::api

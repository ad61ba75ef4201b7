#include "tests/attack/mutated_json.h"

#include <array>
#include <utility>

namespace trainyard::attack {

using nlohmann::json;

std::size_t MutatedJson::below(std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(engine_);
}

std::string MutatedJson::next(const std::vector<json>& documents) {
  json document = documents[below(documents.size())];
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) change_a_value(document);
  std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  if (below(10) == 0) spoil_bytes(text);
  return text;
}

void MutatedJson::change_a_value(json& document) {
  json* at = &document;
  std::string field;
  json* parent = nullptr;
  while (at->is_structured() && !at->empty() && (parent == nullptr || below(4) != 0)) {
    auto element = at->begin();
    std::advance(element, static_cast<std::ptrdiff_t>(below(at->size())));
    parent = at;
    field = at->is_object() ? element.key() : "";
    at = &*element;
  }
  switch (below(8)) {
    case 0:
      if (parent != nullptr && parent->is_object()) parent->erase(field);
      return;
    case 1:
      if (parent != nullptr && parent->is_object()) (*parent)[field + "s"] = hostile_value();
      return;
    default: *at = hostile_value();
  }
}

json MutatedJson::hostile_value() {
  static const std::array values{json(0),
                                 json(-1),
                                 json(-5),
                                 json(1),
                                 json(1.5),
                                 json(1e300),
                                 json(4294967296),
                                 json(9223372036854775807),
                                 json(18446744073709551615ULL),
                                 json(nullptr),
                                 json(true),
                                 json("x"),
                                 json(""),
                                 json("async"),
                                 json("../../../etc/passwd"),
                                 json(std::string(100'000, 'a')),
                                 json("\xc3\x28"),
                                 json(std::string("a\0b", 3)),
                                 json::array(),
                                 json::object(),
                                 json::array({1, 2, 3}),
                                 json(std::vector<int>(20'000, 1)),
                                 json({{"name", 5}}),
                                 json({{"replicas", 0}}),
                                 json({{"replicas", 1000}})};
  if (below(20) == 0) {
    json deep = 1;
    for (std::size_t depth = 1 + below(2000); depth > 0; --depth) {
      deep = json::array({std::move(deep)});
    }
    return deep;
  }
  return values[below(values.size())];
}

void MutatedJson::spoil_bytes(std::string& text) {
  for (std::size_t times = 1 + below(8); times > 0 && !text.empty(); --times) {
    const std::size_t at = below(text.size());
    switch (below(3)) {
      case 0: text[at] = static_cast<char>(below(256)); break;
      case 1: text.resize(at); break;
      default: text.insert(at, text.substr(at, 200));
    }
  }
}

}  // namespace trainyard::attack

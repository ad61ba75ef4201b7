// Strong ids: opaque strings that cannot be mixed up with one another, and what such a string may
// be.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard {

template <class Tag>
struct Id {
  std::string text;

  Id() = default;
  explicit Id(std::string value) : text(std::move(value)) {}
  [[nodiscard]] bool empty() const { return text.empty(); }
  auto operator<=>(const Id&) const = default;
};

using JobId = Id<struct JobTag>;
using AgentId = Id<struct AgentTag>;  // the agent's --name: one per host, chosen by the operator

constexpr bool is_letter_or_digit(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9');
}

constexpr bool is_id_letter(char byte) {
  return is_letter_or_digit(byte) || byte == '.' || byte == '_' || byte == '-';
}

// Ids become parts of paths and URLs: "." and ".." must not get through, nor anything hidden.
inline constexpr std::size_t id_length_max = 128;
constexpr bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= id_length_max && is_letter_or_digit(text.front()) &&
         std::ranges::all_of(text, is_id_letter);
}
inline constexpr std::string_view id_rule =
    "1 to 128 letters, digits, '.', '_' or '-', a letter or digit first";

}  // namespace trainyard

template <class Tag>
struct std::hash<trainyard::Id<Tag>> {
  std::size_t operator()(const trainyard::Id<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.text);
  }
};

// Enum <-> name, one table per enum: used by the `name_of` and `..._from` functions of this folder.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace trainyard {

template <class Enum, std::size_t N>
using NameTable = std::array<std::pair<Enum, std::string_view>, N>;

template <class Enum, std::size_t N>
constexpr std::string_view find_name(const NameTable<Enum, N>& table, Enum value) {
  for (const auto& [key, name] : table) {
    if (key == value) return name;
  }
  return {};
}

template <class Enum, std::size_t N>
constexpr std::optional<Enum> find_value(const NameTable<Enum, N>& table, std::string_view name) {
  for (const auto& [key, text] : table) {
    if (text == name) return key;
  }
  return std::nullopt;
}

}  // namespace trainyard

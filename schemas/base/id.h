// Strong ids: opaque strings that cannot be mixed up with one another.
#pragma once

#include <compare>
#include <functional>
#include <string>
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

}  // namespace trainyard

template <class Tag>
struct std::hash<trainyard::Id<Tag>> {
  std::size_t operator()(const trainyard::Id<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.text);
  }
};

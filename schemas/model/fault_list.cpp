#include "schemas/model/fault_list.h"

#include <utility>

namespace trainyard::model {

bool FaultList::hears(const Place& place, std::string_view below) const {
  if (is_full()) return false;
  std::string pointer = place.pointer;
  pointer += below;
  const auto heard = heard_.find(pointer);
  return heard == heard_.end() || heard->second == place.expansion;
}

void FaultList::add(const Place& place, std::string_view below, std::string message) {
  if (!hears(place, below)) return;
  std::string pointer = place.pointer;
  pointer += below;
  heard_.emplace(pointer, place.expansion);
  noted_.push_back(
      {.fault = {std::move(pointer), std::move(message) + place.used_at}, .from = place.from});
}

void FaultList::add(std::string pointer, std::string message) {
  if (is_full()) return;
  noted_.push_back({.fault = {std::move(pointer), std::move(message)}, .from = ""});
}

}  // namespace trainyard::model

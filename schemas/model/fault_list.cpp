#include "schemas/model/fault_list.h"

#include <algorithm>
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
  Noted noted{.fault = {std::move(pointer), std::move(message) + place.used_at},
              .from = place.from};
  // The flags of a repeat are read once for each of its times.
  if (std::ranges::find(noted_, noted.fault, &Noted::fault) != noted_.end()) return;
  noted_.push_back(std::move(noted));
}

void FaultList::add(std::string pointer, std::string message) {
  if (is_full()) return;
  noted_.push_back({.fault = {std::move(pointer), std::move(message)}, .from = ""});
}

}  // namespace trainyard::model

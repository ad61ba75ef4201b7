#include "schemas/wire/fault.h"

#include <algorithm>
#include <cstddef>

#include "schemas/base/check.h"

namespace trainyard {

Error to_error(std::string_view document, const std::vector<Fault>& faults) {
  ENSURE(!faults.empty());
  constexpr std::size_t shown_max = 5;

  std::string message(document);
  for (std::size_t i = 0; i < std::min(faults.size(), shown_max); ++i) {
    message += i == 0 ? ": " : "; ";
    if (!faults[i].pointer.empty()) message += faults[i].pointer + " ";
    message += faults[i].message;
  }
  if (faults.size() > shown_max) {
    message += "; and " + std::to_string(faults.size() - shown_max) + " more";
  }
  return invalid(std::move(message));
}

}  // namespace trainyard

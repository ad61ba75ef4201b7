// What is wrong with a document, and where: what the API lists in a 422, all at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard {

// wrong: the user must change it. not_yet: it is right by the contract, but this version cannot do
// it.
enum class FaultKind { wrong, not_yet };

struct Fault {
  std::string pointer;  // RFC 6901: "/roles/ps"; "" = the whole document
  std::string message;  // "must be 1 or more, got 0"
  FaultKind kind = FaultKind::wrong;
  bool operator==(const Fault&) const = default;
};

// The text is no JSON document at all.
struct NotJson {
  std::string message;  // says in which line and column, and what was expected there
};

// The faults as one `invalid` error for people: "task.json: /spec/roles/ps must be 1 or more, got
// 0". `faults` must not be empty.
Error to_error(std::string_view document, const std::vector<Fault>& faults);

}  // namespace trainyard

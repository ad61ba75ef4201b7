// The faults of a document as the API lists them in a 422, all at once, and as one error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/fault.h"
#include "schemas/base/result.h"

namespace trainyard {

// The text is no JSON document at all.
struct NotJson {
  std::string message;  // says in which line and column, and what was expected there
};

// The faults as one `invalid` error for people: "task.json: /spec/roles/ps must be 1 or more, got
// 0". `faults` must not be empty.
Error to_error(std::string_view document, const std::vector<Fault>& faults);

}  // namespace trainyard

// What rows must be together before the core believes them. The core wrote them and knows; a person
// with a database tool, or an older version, may have seen it otherwise.
#pragma once

#include "scheduler/core/events.h"
#include "schemas/base/result.h"

namespace trainyard::scheduler {

// `internal`, naming the row and what is wrong with it.
Status check_saved(const Saved& saved);

}  // namespace trainyard::scheduler

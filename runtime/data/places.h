// Work on the places of a batch by several threads.
#pragma once

#include <cstdint>
#include <functional>

#include "schemas/base/result.h"

namespace trainyard::runtime {

// Calls `work` for 0 .. count - 1, on at most `threads` threads, one of which is the caller's.
// The error of the lowest place that has one; places after one that failed may be left out.
Status for_each_place(std::int64_t count, std::int64_t threads,
                      const std::function<Status(std::int64_t place)>& work);

}  // namespace trainyard::runtime

// Faults of what a client sent, as the answer that lists them all.
#pragma once

#include <string>
#include <vector>

#include "api/http/problem.h"
#include "schemas/base/fault.h"

namespace trainyard::api {

// 422, or 501 where all of them are only not there yet. `what` is "the job spec".
Problem problem_of_faults(const std::vector<Fault>& faults, const std::string& what);

}  // namespace trainyard::api

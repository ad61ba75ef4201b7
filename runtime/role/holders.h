// Who holds the parameters, by name, and how a worker reaches them.
#pragma once

#include <string>
#include <vector>

#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// By share: "ps/0"; with all-reduce the workers, in the order of training_rank().
std::vector<std::string> holders_of(const JobSpec& spec);

// For people, in one sentence: "ps/0 by tcp, ps/1 by unix, in bfloat16". `transports` by holder;
// empty where there are none.
std::string routes_of(const JobSpec& spec, const std::vector<std::string>& transports);

}  // namespace trainyard::runtime

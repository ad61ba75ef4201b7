// Who computes gradients and who holds the parameters, by name, and how the ones reach the others.
#pragma once

#include <string>
#include <vector>

#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// By training_rank(): "worker/0".
std::vector<std::string> trainers_of(const JobSpec& spec);
// By share: "ps/0"; with all-reduce the trainers.
std::vector<std::string> holders_of(const JobSpec& spec);

// For people, in one sentence: "ps/0 by tcp, ps/1 by unix, in bfloat16". `transports` by holder;
// empty where there are none.
std::string routes_of(const JobSpec& spec, const std::vector<std::string>& transports);

}  // namespace trainyard::runtime

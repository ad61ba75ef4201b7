// Follows one job to its end by long polls, and draws its progress.
#pragma once

#include <string>

#include "api/client/job_view.h"
#include "api/client/rest.h"

namespace trainyard::client {

// Tells on stderr: each change of state with its reason on a line of its own, and below them on a
// terminal one line of progress, redrawn, else a line at each tenth of the way. Returns the job at
// rest. A server that goes away is waited for, as its jobs go on: `unavailable` after `patience`,
// or when a person interrupts (calls_interrupted() tells).
Result<JobView> watch_job(Rest& rest, const std::string& job_id, Millis patience = seconds(120));

}  // namespace trainyard::client

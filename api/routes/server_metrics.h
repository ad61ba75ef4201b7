// The server's own metrics, and what running jobs count, in Prometheus' text format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/loop/counters.h"
#include "schemas/types/job.h"

namespace trainyard::api {

std::string server_metrics_text(const scheduler::Scheduler::Counters& counters,
                                const std::map<std::string, std::int64_t>& jobs_by_state,
                                const std::vector<Job>& running);

}  // namespace trainyard::api

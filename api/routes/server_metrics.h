// The server's own metrics in Prometheus' text format.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "scheduler/loop/counters.h"

namespace trainyard::api {

std::string server_metrics_text(const scheduler::Scheduler::Counters& counters,
                                const std::map<std::string, std::int64_t>& jobs_by_state);

}  // namespace trainyard::api

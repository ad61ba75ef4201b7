// The lists of the server, over as many pages as it takes.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/client/rest.h"
#include "schemas/base/result.h"

namespace trainyard::client {

// All items of a list, page after page, at most `limit`. `path` has a query already, or none.
Result<nlohmann::json> fetch_items(Rest& rest, const std::string& path,
                                   std::int64_t limit = std::numeric_limits<std::int64_t>::max());

struct JobFilter {
  std::string state = {};
  std::string name = {};
  std::vector<std::string> labels = {};  // "key=value" or "key:value"; a job has all of them
};

// The newest jobs that the filter lets through, at most so many, as the server shows them.
Result<nlohmann::json> fetch_jobs(Rest& rest, const JobFilter& filter,
                                  std::int64_t limit = std::numeric_limits<std::int64_t>::max());

}  // namespace trainyard::client

// Which request made which job: saved with the job, so that the request can be sent again.
#pragma once

#include <string>

#include "schemas/base/id.h"

namespace trainyard::scheduler {

struct IdempotencyKey {
  std::string key;
  std::string request_hash;
  JobId job;
  bool operator==(const IdempotencyKey&) const = default;
};

}  // namespace trainyard::scheduler

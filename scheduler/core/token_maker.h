// How tokens are made: the core names what they are of, whoever starts it has the secret. Pure, so
// that a server that was killed says the same after its restart.
#pragma once

#include <functional>
#include <string>

#include "schemas/types/task.h"

namespace trainyard::scheduler {

struct TokenMaker {
  // Of an attempt: what its tasks show one another.
  std::function<std::string(const JobId& job, std::int64_t attempt)> gang;
  // Of one task of it: what its agent shows the server.
  std::function<std::string(const TaskKey& task)> task;
};

}  // namespace trainyard::scheduler

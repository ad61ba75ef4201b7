// Where a task's own files are, and the token that lets them into the server.
#pragma once

#include <string>

#include "schemas/types/task_context.h"

namespace trainyard::agent {

struct TaskFiles {
  TaskKey key;
  std::string token;
  std::string folder;
  bool is_found = false;  // an earlier start of this agent has begun with it

  [[nodiscard]] std::string events() const { return folder + "/events.jsonl"; }
  [[nodiscard]] std::string save_order() const { return folder + "/" + save_order_file; }
  [[nodiscard]] std::string log() const { return folder + "/task.log"; }
};

}  // namespace trainyard::agent

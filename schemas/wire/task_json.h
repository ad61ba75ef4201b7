// task.json <-> TaskContext: all that a runtime process is told.
#pragma once

#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/types/task_context.h"

namespace trainyard {

Result<TaskContext> parse_task_context(std::string_view text);
// What the parts say of each other; parsing checks it too.
Status check_task_context(const TaskContext& context);
std::string to_json(const TaskContext& context);

}  // namespace trainyard

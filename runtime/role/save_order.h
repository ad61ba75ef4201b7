// The order to save a checkpoint and then to make no more progress: a file named "save" in the
// task's folder, which an agent or anybody writes. A file and no signal: a process that has yet to
// begin finds it too.
#pragma once

#include <string>

#include "runtime/role/step_times.h"
#include "schemas/types/task_context.h"

namespace trainyard::runtime {

class SaveOrder {
 public:
  explicit SaveOrder(const TaskContext& context) : path_(context.folder + "/" + save_order_file) {}

  // Asked once a step: looks no oftener than every few milliseconds.
  bool is_given();

 private:
  std::string path_;
  bool given_ = false;
  StepTimes::Clock::time_point look_at_;
};

}  // namespace trainyard::runtime

// Tokens without a secret, for cores that no stranger meets.
#pragma once

#include "scheduler/core/token_maker.h"

namespace trainyard::scheduler {

inline TokenMaker plain_tokens() {
  return {.gang =
              [](const JobId& job, std::int64_t attempt) {
                return "gang " + job.text + " " + std::to_string(attempt);
              },
          .task = [](const TaskKey& task) { return "task " + to_string(task); }};
}

}  // namespace trainyard::scheduler

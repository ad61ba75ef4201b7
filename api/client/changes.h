// What a watcher is told of a job's changes of state: each once, in the order in which they were;
// and of tasks that compute on a CPU though they were to have a GPU.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/client/job_view.h"

namespace trainyard::client {

class ChangeLines {
 public:
  // The changes since the call before, a line each: "14:03:20  stopping  SIGNALLED: worker/1 on …".
  // A sentence that the line before said is not said again; the last change of a job at rest is
  // left to the closing words, and so is the sentence of the stop that led to it.
  std::vector<std::string> next(const JobView& job);

 private:
  void add_fallbacks(const JobView& job, std::vector<std::string>& lines);

  std::optional<StateChange> newest_;  // of those told
  std::string said_;                   // the sentence of the line before
  std::set<std::string> fallbacks_;    // tasks of which it was told, of one attempt
  std::int64_t attempt_ = 0;           // of which
};

}  // namespace trainyard::client

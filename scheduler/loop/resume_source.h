// The checkpoint of another job that a spec names in checkpoint.resume_from, found at submit.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/core/explain.h"
#include "scheduler/store/store.h"

namespace trainyard::scheduler {

struct ResumeSource {
  std::optional<Checkpoint> checkpoint;  // nothing where the spec names none
  std::vector<SpecFault> faults;
};

// "<job>/latest" and "<job>/best" become "<job>/<step>" in the spec: a job that starts again goes
// on from the same one, whatever its source commits meanwhile.
Result<ResumeSource> find_resume_source(Store& store, JobSpec& spec);

}  // namespace trainyard::scheduler

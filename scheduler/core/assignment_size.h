// How much of an assignment a job takes up. All an agent should have must fit one message, so what
// a host may be given is bounded like its memory is: else the stream ends with each assignment, the
// lease with the stream, and with the lease the tasks of everybody on that host.
#pragma once

#include <cstdint>

#include "schemas/types/job_spec.h"

namespace trainyard::scheduler {

// At least the bytes of what is said once for all tasks of the job on one host: spec, addresses and
// the files of a checkpoint (schemas/wire/agent_codec).
std::int64_t assignment_bytes(const JobSpec& spec);

}  // namespace trainyard::scheduler

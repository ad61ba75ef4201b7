// A job's model on its data set as the server knows them, before any file of the data is read: what
// a dry run shows, and what is refused before a task starts.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/model/analysis.h"
#include "schemas/types/job_spec.h"

namespace trainyard {

// Layers with shapes, costs, and the memory of a worker and of a ps. Its faults are the spec's,
// with pointers into it ("/roles/worker/resources/memory_mb").
model::Analysis analyse_job(const JobSpec& spec);

// A sentence on what of the job, or of its model, this version cannot do with several GPUs of one
// worker; "": there is nothing of the kind.
std::string several_gpus_not_yet(const JobSpec& spec);
std::string several_gpus_not_yet(const model::Analysis& analysis);

// How many scores a CTC loss has for a text, one after another: what a label has to fit into. 0:
// there is no such loss, or its length is not known before the files are read.
std::int64_t label_steps_of(const JobSpec& spec);

}  // namespace trainyard

// The rules of jobs whose workers have several GPUs each: they divide a step among them.
#pragma once

#include "schemas/model/analysis.h"
#include "schemas/types/job_spec.h"
#include "schemas/wire/json_fields.h"

namespace trainyard {

// What this version cannot do with several GPUs of one worker: of the job, and of its model.
void check_several_gpus(const JobSpec& spec, const JsonPlace& place);
void check_several_gpus(const JobSpec& spec, const model::Analysis& analysis,
                        const JsonPlace& place);

// Each GPU has as much to compute as the others: micro-batches, or a part of batch_size.
void check_gpu_shares(const JobSpec& spec, const JsonPlace& place);

}  // namespace trainyard

// The parts of the job spec's parser, one function per part of the document. Each notes its faults
// in the place it is given and answers with what can be used.
#pragma once

#include "schemas/types/job_spec.h"
#include "schemas/wire/json_fields.h"

namespace trainyard {

// The whole spec; it is good if no fault was noted.
JobSpec read_job_spec(const JsonPlace& place);

ModelSpec read_model(const JsonPlace& place);
DatasetSpec read_dataset(const JsonPlace& place);
TrainingSpec read_training(const JsonPlace& place);
TrainingSpec default_training();
SchedulingSpec read_scheduling(const JsonPlace& place);
RunPolicySpec read_run_policy(const JsonPlace& place);
CheckpointSpec read_checkpoint(const JsonPlace& place);
// Notes a fault of training.max_steps where the checkpoint to resume from is of a later step.
void check_resumed_step(const JobSpec& spec, const JsonPlace& place);
std::map<std::string, std::string> read_environment(const JsonPlace& place);

struct Roles {
  RoleSpec ps;
  RoleSpec worker;
  std::optional<RoleSpec> chief;
};
Roles read_roles(const JsonPlace& place);
Roles default_roles(Strategy strategy);

// The bound of everything that is counted in seconds or steps.
inline constexpr std::int64_t seconds_max = 1'000'000'000;
inline constexpr std::int64_t steps_max = 1'000'000'000'000;

inline constexpr TextMapRule labels_rule{
    64, label_rule(63), {0, 255, is_printable, "no control characters"}};

}  // namespace trainyard

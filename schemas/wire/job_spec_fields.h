// The parts of the job spec's parser, one function per part of the document. Each notes its faults
// in the place it is given and answers with what can be used.
#pragma once

#include "schemas/types/job_spec.h"
#include "schemas/wire/json_fields.h"

namespace trainyard {

// Whether it is taken now, or was before, perhaps by an older version: rules that came later do not
// apply to it then.
enum class Source { submitted, stored };

// The whole spec; nothing where a fault was noted, so that no value that was refused is used.
std::optional<JobSpec> read_job_spec(const JsonPlace& place, Source source);
// The rules that read several fields of what was read at `place`, and those that came later. Each
// is asked only where nothing that it reads has a fault.
void check_rules(const JobSpec& spec, const JsonPlace& place, Source source);

// With the defaults of a zoo's model filled in; that its layers fit, check_rules says.
model::Written read_model(const JsonPlace& place);
DatasetSpec read_dataset(const JsonPlace& place);
nlohmann::json dataset_to_json(const DatasetSpec& dataset);
TrainingSpec read_training(const JsonPlace& place);
TrainingSpec default_training();
SchedulingSpec read_scheduling(const JsonPlace& place);
RunPolicySpec read_run_policy(const JsonPlace& place);
CheckpointSpec read_checkpoint(const JsonPlace& place);
// Of "<job id>/<step>" the step; nothing where the text is none.
std::optional<std::int64_t> step_named_by(std::string_view text);
std::map<std::string, std::string> read_environment(const JsonPlace& place);

struct Roles {
  RoleSpec ps;
  RoleSpec worker;
  std::optional<RoleSpec> chief;
};
Roles read_roles(const JsonPlace& place, Strategy strategy);
Roles default_roles(Strategy strategy);

// The bound of everything that is counted in seconds or steps.
inline constexpr std::int64_t seconds_max = 1'000'000'000;
inline constexpr std::int64_t steps_max = 1'000'000'000'000;

inline constexpr TextMapRule labels_rule{
    64, label_rule(63), {0, 255, is_printable, "no control characters"}};

}  // namespace trainyard

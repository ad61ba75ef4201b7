#include "scheduler/loop/resume_source.h"

#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/core/checkpoints.h"
#include "schemas/model/outline.h"
#include "schemas/types/retention.h"
#include "schemas/wire/job_model.h"

namespace trainyard::scheduler {
namespace {

SpecFault fault_of_name(std::string message) {
  return {"/checkpoint/resume_from", std::move(message)};
}

// The step of the checkpoint that `which` means now, of a job that is there.
Result<std::optional<std::int64_t>> chosen_step(Store& store, const Job& source,
                                                std::string_view which) {
  TRY_ASSIGN(const auto checkpoints, store.committed_checkpoints(source.id));
  if (checkpoints.empty()) return std::optional<std::int64_t>();
  if (which == "latest") return std::optional(checkpoints.back().step);
  const std::string& metric = source.spec.checkpoint.metric;
  std::vector<Ranked> ranked;
  for (const Checkpoint& one : checkpoints) {
    ranked.push_back(ranked_by(metric, one.step, one.metrics));
  }
  return best_step(best_of(metric), ranked);
}

// Where resume_from is "<job>/latest" or "<job>/best", it is a step from here on.
Result<std::vector<SpecFault>> settle_word(Store& store, std::string& resume_from) {
  const std::size_t slash = resume_from.find('/');
  if (slash == std::string::npos) return std::vector<SpecFault>();
  const std::string which = resume_from.substr(slash + 1);
  if (which != "latest" && which != "best") return std::vector<SpecFault>();

  const JobId id{resume_from.substr(0, slash)};
  const auto source = store.job(id);
  if (!source && source.error().code == Code::not_found) {
    return std::vector{fault_of_name("there is no job " + id.text)};
  }
  if (!source) return source.error();
  TRY_ASSIGN(const auto step, chosen_step(store, *source, which));
  if (!step) {
    return std::vector{fault_of_name(
        "job " + id.text + " has no committed checkpoint" +
        (which == "best" ? " with the metric " + source->spec.checkpoint.metric : " yet"))};
  }
  resume_from = id.text + '/' + std::to_string(*step);
  return std::vector<SpecFault>();
}

// Whether both have the same variables, as far as the specs tell: files give sizes, too.
bool alike(const JobSpec& one, const JobSpec& other) {
  const auto may_be_equal = [](const model::Variable& left, const model::Variable& right) {
    return left.name == right.name && left.role == right.role &&
           std::ranges::equal(left.shape, right.shape, [](std::int64_t a, std::int64_t b) {
             return a == b || a == model::unknown_size || b == model::unknown_size;
           });
  };
  return std::ranges::equal(analyse_job(one).variables, analyse_job(other).variables, may_be_equal);
}

// None where the job that committed the checkpoint trains the model of `spec`.
Result<std::vector<SpecFault>> faults_of_model(Store& store, const JobSpec& spec,
                                               const JobId& from) {
  TRY_ASSIGN(const Job source, store.job(from));
  if (alike(spec, source.spec)) return std::vector<SpecFault>();
  return std::vector{fault_of_name(spec.checkpoint.resume_from +
                                   " is of another model: " + model::words_of(source.spec.model) +
                                   ", not " + model::words_of(spec.model))};
}

}  // namespace

Result<ResumeSource> find_resume_source(Store& store, JobSpec& spec) {
  ResumeSource source;
  const std::string asked = spec.checkpoint.resume_from;
  TRY_ASSIGN(source.faults, settle_word(store, spec.checkpoint.resume_from));
  const auto named = resume_source_of(spec);
  if (!named || !source.faults.empty()) return source;

  TRY_ASSIGN(source.checkpoint, store.committed_checkpoint(named->first, named->second));
  if (!source.checkpoint) {
    source.faults.push_back(fault_of_name(no_such_checkpoint(*named).message));
  } else if (spec.training.max_steps && *spec.training.max_steps <= named->second) {
    source.faults.push_back({"/training/max_steps", "must be more than " +
                                                        std::to_string(named->second) +
                                                        ", the step of checkpoint.resume_from " +
                                                        asked + ": nothing would be left to do"});
  }
  if (source.checkpoint) {
    TRY_ASSIGN(const auto faults, faults_of_model(store, spec, named->first));
    source.faults.insert(source.faults.end(), faults.begin(), faults.end());
  }
  return source;
}

}  // namespace trainyard::scheduler

#include "schemas/wire/job_model.h"

#include <algorithm>

#include "schemas/wire/dataset_facts.h"

namespace trainyard {
namespace {

std::int64_t slots_of(OptimizerName name) {
  switch (name) {
    case OptimizerName::sgd: return 0;
    case OptimizerName::momentum:
    case OptimizerName::nesterov:
    case OptimizerName::adagrad:
    case OptimizerName::rmsprop: return 1;
    case OptimizerName::adadelta:
    case OptimizerName::adam:
    case OptimizerName::adamw: break;
  }
  return 2;
}

}  // namespace

model::Analysis analyse_job(const JobSpec& spec) {
  model::Setting setting;
  setting.micro_batch = leaf_examples(spec.training);
  setting.micro_batch_pointer =
      spec.training.micro_batch_size ? "/training/micro_batch_size" : "/training/batch_size";
  setting.ps = spec.training.strategy == Strategy::parameter_server ? spec.ps.replicas : 0;
  setting.optimizer_slots = slots_of(spec.training.optimizer.name);
  if (spec.worker.replicas > 0) setting.worker_memory_mb = spec.worker.resources.memory_mb;
  // A chief computes as workers do: whoever has the least room is the one to look at.
  const bool is_chief_least =
      spec.chief &&
      (!setting.worker_memory_mb || spec.chief->resources.memory_mb < *setting.worker_memory_mb);
  if (is_chief_least) {
    setting.worker_memory_mb = spec.chief->resources.memory_mb;
    setting.worker_memory_pointer = "/roles/chief/resources/memory_mb";
  }
  setting.ps_memory_mb = spec.ps.resources.memory_mb;
  return model::analyse(spec.model, facts_of(spec.dataset), setting);
}

std::int64_t label_steps_of(const JobSpec& spec) {
  const model::Analysis analysis = model::analyse(spec.model, facts_of(spec.dataset), {});
  for (const model::AnalysedTerm& loss : analysis.losses) {
    if (loss.op != "ctc" || loss.in.empty()) continue;
    const model::MaybeShape& scores = analysis.layers[loss.in.front()].shape;
    if (scores && !scores->empty()) return std::max<std::int64_t>(scores->front(), 0);
  }
  return 0;
}

}  // namespace trainyard

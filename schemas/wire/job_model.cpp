#include "schemas/wire/job_model.h"

#include <algorithm>
#include <string>

#include "schemas/model/trainable.h"
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

// In a batch of one the own item has no other beside it: nothing would be learned.
void check_pairs(const model::Setting& setting, model::Analysis& analysis) {
  const auto compares = [](const model::AnalysedTerm& loss) {
    return loss.op == "in_batch_softmax";
  };
  if (std::ranges::none_of(analysis.losses, compares)) return;
  const std::int64_t most = model::in_batch_examples_max;
  if (setting.micro_batch >= 2 && setting.micro_batch <= most) return;
  analysis.faults.push_back(
      {setting.micro_batch_pointer,
       "in_batch_softmax compares each example of a micro-batch with each other: 2 to " +
           std::to_string(most) + ", got " + std::to_string(setting.micro_batch)});
}

// A step of several tasks is made of chunks of the arena, and tables of rows are in none.
void check_arena(const JobSpec& spec, model::Analysis& analysis) {
  const auto is_in_arena = [](const model::Variable& variable) {
    return variable.role != model::VariableRole::row_table;
  };
  if (spec.training.strategy == Strategy::local || analysis.variables.empty() ||
      std::ranges::any_of(analysis.variables, is_in_arena)) {
    return;
  }
  analysis.faults.push_back(
      {"/model",
       "a model of nothing but tables of rows is not in this version yet, unless "
       "\"strategy\" is \"local\"; a dense layer, or a table in the arena, is enough",
       FaultKind::not_yet});
}

// Some may compute on their CPUs all the same: workers without a GPU beside a chief with one. The
// least of the GPUs that are asked for has to do.
void set_gpus(const JobSpec& spec, model::Setting& setting) {
  using Computes = model::Setting::Computes;
  const bool may_be_cpu = spec.training.device == ComputeDevice::automatic;
  bool some = false;
  bool all = true;
  const auto look_at = [&](const RoleSpec& role, const char* pointer) {
    const bool has_gpus = role.resources.gpus > 0;
    some |= has_gpus;
    all &= has_gpus;
    if (!has_gpus || may_be_cpu || role.gpu.memory_mb < 1) return;
    if (setting.gpu_memory_mb && *setting.gpu_memory_mb <= role.gpu.memory_mb) return;
    setting.gpu_memory_mb = role.gpu.memory_mb;
    setting.gpu_memory_pointer = pointer;
  };
  if (spec.worker.replicas > 0) look_at(spec.worker, "/roles/worker/resources/gpu_memory_mb");
  if (spec.chief) look_at(*spec.chief, "/roles/chief/resources/gpu_memory_mb");
  if (some) setting.computes = all && !may_be_cpu ? Computes::gpu : Computes::either;
}

std::string not_with_several_gpus(const std::string& with) {
  return "several GPUs of one worker " + with +
         " are not in this version yet: use more workers with one each";
}

}  // namespace

model::Analysis analyse_job(const JobSpec& spec) {
  model::Setting setting;
  setting.micro_batch = leaf_examples(spec);
  setting.micro_batch_pointer =
      spec.training.micro_batch_size ? "/training/micro_batch_size" : "/training/batch_size";
  const bool is_on_gpus = spec.training.device != ComputeDevice::cpu;
  setting.gradients = is_on_gpus && several_gpus_not_yet(spec).empty() ? worker_gpus(spec) : 1;
  if (is_on_gpus) set_gpus(spec, setting);
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
  model::Analysis analysis = model::analyse(spec.model, facts_of(spec.dataset), setting);
  check_pairs(setting, analysis);
  check_arena(spec, analysis);
  return analysis;
}

std::string several_gpus_not_yet(const JobSpec& spec) {
  if (spec.mode == Mode::async) return not_with_several_gpus("with mode async");
  if (!has_backup_workers(spec)) return "";
  return not_with_several_gpus("where fewer gradients than there are workers make a step");
}

std::string several_gpus_not_yet(const model::Analysis& analysis) {
  const bool has_rows =
      std::ranges::any_of(analysis.variables, [](const model::Variable& variable) {
        return variable.role == model::VariableRole::row_table;
      });
  return has_rows ? not_with_several_gpus("with a table of rows in the model") : "";
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

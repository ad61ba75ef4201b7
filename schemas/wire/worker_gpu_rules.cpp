#include "schemas/wire/worker_gpu_rules.h"

#include <algorithm>
#include <string>

#include "schemas/wire/job_model.h"

namespace trainyard {
namespace {

// Of the chief 1 where it has none, as of a worker.
std::int64_t chief_gpus(const JobSpec& spec) {
  return std::max<std::int64_t>(1, spec.chief ? spec.chief->resources.gpus : 0);
}

bool has_workers(const JobSpec& spec) { return spec.worker.replicas > 0; }

void note_not_yet(const JobSpec& spec, const std::string& why, const JsonPlace& place) {
  if (why.empty() || spec.training.device == ComputeDevice::cpu) return;
  const auto note = [&](const char* role, std::int64_t gpus) {
    if (gpus < 2) return;
    const std::string pointer = place.pointer + "/roles/" + role + "/resources/gpus";
    place.faults.push_back({pointer, why, FaultKind::not_yet});
  };
  if (has_workers(spec)) note("worker", spec.worker.resources.gpus);
  if (spec.chief) note("chief", spec.chief->resources.gpus);
}

void check_micro_batches_of_gpus(const JobSpec& spec, const JsonPlace& place) {
  const std::int64_t trainers = training_replicas(spec);
  const std::int64_t gpus = std::max(has_workers(spec) ? worker_gpus(spec) : 1, chief_gpus(spec));
  const std::int64_t leaves = step_leaves(spec);
  // With fewer than there are workers another rule has said so.
  if (gpus == 1 || trainers == 0 || leaves < trainers || leaves / trainers >= gpus) return;
  place.faults.push_back({place.pointer + "/training/micro_batch_size",
                          "leaves " + std::to_string(leaves) +
                              (leaves == 1 ? " micro-batch for " : " micro-batches for ") +
                              std::to_string(trainers) +
                              (trainers == 1 ? " worker of " : " workers of ") +
                              std::to_string(gpus) + " GPUs: each GPU needs one at least"});
}

}  // namespace

void check_several_gpus(const JobSpec& spec, const JsonPlace& place) {
  note_not_yet(spec, several_gpus_not_yet(spec), place);
}

void check_several_gpus(const JobSpec& spec, const model::Analysis& analysis,
                        const JsonPlace& place) {
  note_not_yet(spec, several_gpus_not_yet(analysis), place);
}

void check_gpu_shares(const JobSpec& spec, const JsonPlace& place) {
  if (!several_gpus_not_yet(spec).empty()) return;
  const auto& global = spec.training.global_batch_size;
  const auto& micro = spec.training.micro_batch_size;
  if (global && micro) return check_micro_batches_of_gpus(spec, place);
  if (global || micro) return;  // another rule has said that both are needed
  const std::int64_t gpus = worker_gpus(spec);
  const std::int64_t batch = spec.training.batch_size;
  if (batch % gpus != 0) {
    const std::int64_t next = batch / gpus * gpus + gpus;
    place.faults.push_back(
        {place.pointer + "/training/batch_size",
         "must be a multiple of " + std::to_string(gpus) +
             ", the GPUs of a worker, each of which computes a part of it, such as " +
             std::to_string(next) + "; got " + std::to_string(batch)});
  }
  if (has_workers(spec) && spec.chief && chief_gpus(spec) != gpus) {
    place.faults.push_back({place.pointer + "/roles/chief/resources/gpus",
                            "must be as many as a worker's with batch_size, which all of them "
                            "divide alike: " +
                                std::to_string(gpus) + (gpus == 1 ? " or none" : "") + ", got " +
                                std::to_string(spec.chief->resources.gpus)});
  }
}

}  // namespace trainyard

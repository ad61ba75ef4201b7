// Good and bad words about the GPUs of a role.
#include "tests/schemas/wire/spec_corpus.h"

namespace trainyard {
namespace {

std::string on_worker(const std::string& resources) {
  return R"({"model": "mlp", "dataset": "synthetic_digits", "roles": {"ps": 1, "worker":
             {"replicas": 1, "resources": {)" +
         resources + "}}}}";
}

// Workers with so many GPUs each, and more words of the spec.
std::string with_gpus(const std::string& gpus, const std::string& more) {
  return R"({"model": "mlp", "dataset": "synthetic_digits", )" + more +
         R"(, "roles": {"ps": 1, "worker": {"replicas": 2, "resources": {"gpus": )" + gpus + "}}}}";
}

std::string with_chief(const std::string& gpus, const std::string& more) {
  return R"({"model": "mlp", "dataset": "synthetic_digits", )" + more +
         R"(, "roles": {"ps": 1, "chief": {"replicas": 1, "resources": {"gpus": )" + gpus +
         R"(}}, "worker": {"replicas": 2, "resources": {"gpus": 2}}}})";
}

const std::string at_name = "/roles/worker/resources/gpu_name";
const std::string at_memory = "/roles/worker/resources/gpu_memory_mb";
const std::string at_precision = "/training/precision";

}  // namespace

std::vector<SpecCase> good_gpus() {
  return {
      {on_worker(R"("gpus": 2, "gpu_name": "a100", "gpu_memory_mb": 40000)"), {}},
      {on_worker(R"("gpus": 1, "gpu_memory_mb": 1)"), {}},
      {on_worker(R"("gpus": 0, "gpu_name": null, "gpu_memory_mb": null)"), {}},
      {with_gpus("4", R"("training": {"batch_size": 100})"), {}},
      {with_gpus("3", R"("training": {"global_batch_size": 60, "micro_batch_size": 10})"), {}},
      {with_gpus("2", R"("mode": "async", "training": {"device": "cpu"})"), {}},
      {with_gpus("1", R"("training": {"precision": "tf32"})"), {}},
      {with_gpus("2", R"("training": {"precision": "bfloat16", "device": "gpu"})"), {}},
      {with_gpus("0", R"("training": {"precision": "float32", "device": "cpu"})"), {}},
      {with_chief("2", R"("training": {"batch_size": 100, "precision": "bfloat16"})"), {}},
      {R"({"model": "mlp", "dataset": "synthetic_digits", "training": {"precision": "tf32"},
           "roles": {"ps": 1, "worker": 0, "chief": {"replicas": 1, "resources": {"gpus": 1}}}})",
       {}},
      {with_chief("2", R"("training": {"batch_size": 100})"), {}},
      {with_chief("0", R"("training": {"global_batch_size": 60, "micro_batch_size": 10})"), {}},
  };
}

std::vector<SpecCase> bad_gpus() {
  constexpr auto cannot_say = SpecCase::Schema::cannot_say;
  return {
      {on_worker(R"("gpu_name": "T4")"), {at_name}, cannot_say},
      {on_worker(R"("gpus": 0, "gpu_memory_mb": 1)"), {at_memory}, cannot_say},
      {on_worker(R"("gpus": 1, "gpu_name": "", "gpu_memory_mb": 0)"), {at_memory, at_name}},
      {on_worker(R"("gpus": 1, "gpu_name": 4, "gpu_memory_mb": "much")"), {at_memory, at_name}},
      {on_worker(R"("gpus": 1, "gpu_name": "a\u0007b")"), {at_name}, cannot_say},
      {with_gpus("3", R"("training": {"batch_size": 100})"), {"/training/batch_size"}, cannot_say},
      {with_gpus("3", R"("training": {"device": "auto"})"), {"/training/batch_size"}, cannot_say},
      {with_gpus("3", R"("training": {"device": "cpu"})"), {"/training/batch_size"}, cannot_say},
      {with_gpus("3", R"("training": {"global_batch_size": 50, "micro_batch_size": 10})"),
       {"/training/micro_batch_size"},
       cannot_say},
      {with_gpus("3", R"("training": {"global_batch_size": 50})"), {"/training/global_batch_size"}},
      {with_chief("1", R"("training": {"batch_size": 100})"),
       {"/roles/chief/resources/gpus"},
       cannot_say},
      {with_gpus("2", R"("mode": "async")"), {"/roles/worker/resources/gpus"}, cannot_say},
      {with_gpus("2", R"("training": {"replicas_to_aggregate": 1, "device": "auto"})"),
       {"/roles/worker/resources/gpus"},
       cannot_say},
      {with_gpus("0", R"("training": {"precision": "tf32"})"), {at_precision}, cannot_say},
      {with_gpus("1", R"("training": {"precision": "tf32", "device": "cpu"})"),
       {at_precision},
       cannot_say},
      {with_gpus("1", R"("training": {"precision": "bfloat16", "device": "auto"})"),
       {at_precision},
       cannot_say},
      {with_gpus("1", R"("training": {"precision": "float16"})"), {at_precision}},
      {with_gpus("1", R"("training": {"precision": 16})"), {at_precision}},
      {with_chief("0", R"("training": {"global_batch_size": 60, "micro_batch_size": 10,
                                       "precision": "tf32"})"),
       {at_precision},
       cannot_say},
      {on_worker(R"("gpus": 1, "gpu_name": ")" + std::string(97, 'x') + '"'), {at_name}},
  };
}

}  // namespace trainyard

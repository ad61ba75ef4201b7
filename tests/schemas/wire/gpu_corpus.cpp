// Good and bad words about the GPUs of a role.
#include "tests/schemas/wire/spec_corpus.h"

namespace trainyard {
namespace {

std::string on_worker(const std::string& resources) {
  return R"({"model": "mlp", "dataset": "synthetic_digits", "roles": {"ps": 1, "worker":
             {"replicas": 1, "resources": {)" +
         resources + "}}}}";
}

const std::string at_name = "/roles/worker/resources/gpu_name";
const std::string at_memory = "/roles/worker/resources/gpu_memory_mb";

}  // namespace

std::vector<SpecCase> good_gpus() {
  return {
      {on_worker(R"("gpus": 2, "gpu_name": "a100", "gpu_memory_mb": 40000)"), {}},
      {on_worker(R"("gpus": 1, "gpu_memory_mb": 1)"), {}},
      {on_worker(R"("gpus": 0, "gpu_name": null, "gpu_memory_mb": null)"), {}},
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
      {on_worker(R"("gpus": 1, "gpu_name": ")" + std::string(97, 'x') + '"'), {at_name}},
  };
}

}  // namespace trainyard

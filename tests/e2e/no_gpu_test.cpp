// Why a worker cannot compute on its GPU, sentence by sentence (docs/gpu.md): it ends as NO_GPU, or
// computes on the CPU where its job says device auto, and says why.
#include <catch2/catch.hpp>

#include "schemas/files/whole_file.h"
#include "tests/e2e/gpu_host.h"
#include "tests/e2e/yard.h"
#include "tests/support/program_path.h"
#include "tests/support/temp_folder.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

using nlohmann::json;

// One for either of two jobs.
std::string two_gpus_of(const std::string& kind) {
  return "gpu GPU-a " + kind + "\ngpu GPU-b " + kind + "\n";
}

json job_of_one_worker(const std::string& device) {
  json spec = small_job(4);
  spec["dataset"] = {{"name", "synthetic_digits"}, {"train_examples", 100}, {"test_examples", 20}};
  spec["training"]["device"] = device;
  spec["training"]["strategy"] = "local";
  spec["training"]["evaluate_every_steps"] = 4;
  spec["roles"] = {{"worker", {{"replicas", 1}, {"resources", {{"gpus", 1}}}}}};
  spec["run_policy"]["max_restarts"] = 0;
  return spec;
}

// An agent whose GPU cannot be used for one reason after another.
class UselessGpu {
 public:
  UselessGpu() {
    yard_.start_agent("box", {"--cpus", "8", "--gpus", "2", "--runtime", host_.runtime()});
    yard_.wait_for_agents(1);
  }

  const GpuHost& host() { return host_; }

  void require(const std::string& sentence) {
    INFO(sentence);
    const std::string fails = yard_.submit(job_of_one_worker("gpu"));
    const std::string trains = yard_.submit(job_of_one_worker("auto"));
    const json failed = yard_.wait_for_state(fails, "failed").at("status");
    CHECK(failed.at("reason") == "NO_GPU");
    CHECK(failed.at("reason_class") == "INFRA");
    CHECK_THAT(failed.at("message").get<std::string>(), Catch::Contains(sentence));
    const json trained = yard_.wait_for_state(trains, "succeeded").at("status");
    const auto route = trained.at("routes").at("worker/0").get<std::string>();
    CHECK_THAT(route, Catch::StartsWith("computes on the CPU: "));
    CHECK_THAT(route, Catch::Contains(sentence));
  }

 private:
  GpuHost host_;
  Yard yard_;
};

}  // namespace

TEST_CASE("why a GPU cannot be used is said in the plugin's words", "[e2e][gpu]") {
  UselessGpu gpu;
  gpu.host().show(two_gpus_of("512 7 0 Double V"));
  gpu.require("Double V (sm_70) is not among sm_80, sm_90 and newer");
  gpu.host().show("build 0123456789abcdef0123\n");
  gpu.require("libtrainyard-cuda.so is of build 0123456789abcdef, the runtime of ");
  gpu.host().show(two_gpus_of("1 9 0 Double S"));
  gpu.require("Double S has 0 MiB free, ");
}

TEST_CASE("what lacks of a GPU's software is said by name", "[e2e][gpu]") {
  UselessGpu gpu;
  gpu.host().show(two_gpus_of("512 9 0 Double A"));
  gpu.host().remove_plugin();
  gpu.require("trainyard-runtime was built without CUDA: there is no ");
  gpu.host().use_as_plugin(program_path("../tests/gpu_double_driver.so"));
  gpu.require("undefined symbol: trainyard_device_v1");
  gpu.host().use_as_plugin(gpu.host().runtime());  // a script
  gpu.require("libtrainyard-cuda.so: invalid ELF header");
  const TempFolder folder;
  const auto plugin = read_file(program_path("../tests/gpu_double_plugin.so"));
  REQUIRE(plugin);
  gpu.host().use_as_plugin(folder.write("cut-off", plugin->substr(0, 4096)));
  gpu.require("libtrainyard-cuda.so is cut off: it has 4096 of " + std::to_string(plugin->size()));
}

TEST_CASE("the product's plugin says what its driver lacks", "[e2e][gpu]") {
  const std::string plugin = program_path("libtrainyard-cuda.so");
  if (!is_there(plugin)) {
    WARN("skipped: built without CUDA");
    return;
  }
  UselessGpu gpu;
  gpu.host().use_as_plugin(plugin);
  gpu.host().let_driver_know("12020");
  gpu.require("needs: it knows CUDA up to 12.2");
  gpu.host().let_driver_know("99000");
  gpu.require("GPU slots given: 1; GPUs that the driver shows: 0");
}

// How fast each precision is on the GPUs of a host: measured by its agent once, and told with the
// host and with the status of each job that computes there. The GPUs are doubles, so the figures
// are of a loop on a CPU.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <regex>

#include "tests/e2e/gpu_host.h"
#include "tests/e2e/yard.h"
#include "tests/support/program_path.h"
#include "tests/support/temp_folder.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

using nlohmann::json;

// The same two GPUs, as the driver's library shows them and as the plugin does.
void start_agent_with_two_gpus(Yard& yard, const GpuHost& host) {
  host.show("gpu GPU-a 512 9 0 Double\ngpu GPU-b 512 9 0 Double\n");
  const std::string shown = yard.folder().write(
      "gpus", "gpu GPU-a 512 41 30500 70 0 0 Double\ngpu GPU-b 512 41 30500 70 0 0 Double\n");
  ::setenv("TRAINYARD_NVML", program_path("../tests/nvml_double.so").c_str(), 1);
  ::setenv("NVML_DOUBLE", shown.c_str(), 1);
  yard.start_agent("box", {"--cpus", "16", "--runtime", host.runtime()});
  ::unsetenv("TRAINYARD_NVML");
  ::unsetenv("NVML_DOUBLE");
  yard.wait_for_agents(1);
}

json rates_of_gpus(const Yard& yard) {
  const json agents = get(yard.url("/v1/agents")).json();
  json rates = json::array();
  for (const json& gpu : agents.at("items").at(0).at("gpus")) {
    rates.push_back(gpu.at("product_tflops"));
  }
  return rates;
}

json job_on_gpus(int gpus, const std::string& precision) {
  json spec = small_job(4);
  spec["dataset"] = {{"name", "synthetic_digits"}, {"train_examples", 100}, {"test_examples", 20}};
  spec["training"].update({{"strategy", "local"},
                           {"batch_size", 20},
                           {"precision", precision},
                           {"evaluate_every_steps", 4}});
  spec["roles"] = {{"worker", {{"replicas", 1}, {"resources", {{"gpus", gpus}}}}}};
  return spec;
}

json status_of(Yard& yard, const json& spec) {
  const std::string id = yard.submit(spec);
  return yard.wait_for_state(id, "succeeded").at("status");
}

std::string route_of(const json& status) {
  return status.at("routes").at("worker/0").get<std::string>();
}

// Others than this, in which a job's gradients would be faster or slower, as its status says.
void require_speedups(const json& status, const std::string& precision) {
  for (const std::string other : {"float32", "tf32", "bfloat16"}) {
    INFO(other);
    const json& metrics = status.at("metrics");
    REQUIRE(metrics.contains("speedup_in_" + other) == (other != precision));
    if (other != precision) CHECK(metrics.at("speedup_in_" + other).get<double>() > 0);
  }
}

}  // namespace

TEST_CASE("how fast each precision is says the host, and the status of its jobs", "[e2e][gpu]") {
  const GpuHost host;
  Yard yard;
  start_agent_with_two_gpus(yard, host);

  const json measured = rates_of_gpus(yard);
  INFO(yard.agent("box").output());
  REQUIRE(measured.size() == 2);
  CHECK(measured.at(0) == measured.at(1));
  REQUIRE(measured.at(0).size() == 3);
  for (const char* precision : {"float32", "tf32", "bfloat16"}) {
    INFO(precision);
    CHECK(measured.at(0).at(precision).get<double>() > 0);
  }
  const std::string rates =
      R"( make [0-9.]+ TFLOP/s in float32, [0-9.]+ in tf32, [0-9.]+ in bfloat16)";
  const json on_one = status_of(yard, job_on_gpus(1, "float32"));
  require_speedups(on_one, "float32");
  const std::string one = route_of(on_one);
  INFO(one);
  CHECK(std::regex_match(one, std::regex("computes on Double; its products" + rates + "(; .*)?")));
  const json on_two = status_of(yard, job_on_gpus(2, "bfloat16"));
  require_speedups(on_two, "bfloat16");
  const std::string two = route_of(on_two);
  INFO(two);
  CHECK(std::regex_match(two, std::regex("computes on Double, Double in bfloat16; the products of "
                                         "each" +
                                         rates + "(; .*)?")));

  // The next agent on this folder has the figures, to the last digit, and measures nothing.
  yard.kill_agent("box");
  CHECK_THAT(yard.agent("box").output(), Catch::Contains("gpu_measured"));
  start_agent_with_two_gpus(yard, host);
  CHECK(route_of(status_of(yard, job_on_gpus(1, "float32"))) == one);
  CHECK(rates_of_gpus(yard) == measured);
  CHECK_THAT(yard.agent("box").output(), !Catch::Contains("gpu_measured"));
}

TEST_CASE("a GPU that cannot be measured leaves an agent that works", "[e2e][gpu]") {
  const GpuHost host;
  host.fail_after(3, "the GPU's work: unspecified launch failure");
  Yard yard;
  start_agent_with_two_gpus(yard, host);
  CHECK(host.has_failed());
  CHECK(rates_of_gpus(yard) == json{json::object(), json::object()});
  CHECK_THAT(yard.agent("box").output(),
             Catch::Contains("gpu_not_measured") && Catch::Contains("unspecified launch failure"));
  CHECK_THAT(route_of(status_of(yard, job_on_gpus(1, "float32"))), !Catch::Contains("TFLOP/s"));
}

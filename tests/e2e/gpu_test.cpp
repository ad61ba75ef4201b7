// An agent whose GPUs a double of the driver's library shows: who gets which, and what happens when
// somebody else uses one.
#include <dlfcn.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/e2e/yard.h"
#include "tests/support/program_path.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

constexpr const char* two_gpus =
    "gpu GPU-a 15360 41 30500 70 1024 0 NVIDIA T4\n"
    "gpu GPU-b 81559 52 310000 0 0 1 NVIDIA H100 80GB HBM3\n"
    "peers 0 1\n";

// What the agents' drivers show from now on; never half of it.
void show(const Yard& yard, const std::string& text) {
  const std::string path = yard.folder().path("gpus");
  std::ofstream(path + ".new") << text;
  std::filesystem::rename(path + ".new", path);
}

void start_agent_with_gpus(Yard& yard) {
  show(yard, two_gpus);
  ::setenv("TRAINYARD_NVML", program_path("../tests/nvml_double.so").c_str(), 1);
  ::setenv("NVML_DOUBLE", yard.folder().path("gpus").c_str(), 1);
  yard.start_agent("box");
  ::unsetenv("TRAINYARD_NVML");
  ::unsetenv("NVML_DOUBLE");
  yard.wait_for_agents(1);
}

nlohmann::json a_job_for(const std::string& gpu_name) {
  auto spec = small_job(1'000'000);
  spec["roles"] = {
      {"ps", 1},
      {"worker", {{"replicas", 1}, {"resources", {{"gpus", 1}, {"gpu_name", gpu_name}}}}}};
  spec["training"]["device"] = "cpu";  // its slots are what is looked at
  return spec;
}

std::string environment_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

nlohmann::json gpus_of(const Yard& yard) {
  return get(yard.url("/v1/agents")).json().at("items").at(0).at("gpus");
}

bool has_strangers(const Yard& yard, std::size_t count) {
  return eventually([&] { return gpus_of(yard).at(1).at("strangers").size() == count; });
}

}  // namespace

TEST_CASE("a job gets the GPU of the name that it asks for, by UUID", "[e2e][gpu]") {
  Yard yard;
  start_agent_with_gpus(yard);

  const std::string id = yard.submit(a_job_for("h100"));
  yard.wait_for_state(id, "running");
  const pid_t worker = yard.pid_of(id, "worker", 0);
  const std::string environment = environment_of(worker);
  CHECK(environment.find(std::string("CUDA_VISIBLE_DEVICES=GPU-b") + '\0') != std::string::npos);
  CHECK(environment.find("TRAINYARD_NVML") == std::string::npos);
  for (const auto& task : yard.tasks(id)) {
    if (task.at("role") == "worker") CHECK(task.at("gpus") == nlohmann::json{1});
  }

  // Its own process is no stranger.
  show(yard, two_gpus + ("process 1 " + std::to_string(worker) + " 512\n") + "process 0 " +
                 std::to_string(::getpid()) + " 2048\n");
  REQUIRE(eventually([&] { return gpus_of(yard).at(0).at("strangers").size() == 1; }));
  const auto gpus = gpus_of(yard);
  CHECK(gpus.at(1).at("strangers").empty());
  CHECK(gpus.at(0).at("strangers").at(0) ==
        nlohmann::json{{"pid", ::getpid()}, {"memory_mb", 2048}});
  CHECK(gpus.at(0).at("uuid") == "GPU-a");
  CHECK(gpus.at(0).at("nvlink_peers") == nlohmann::json{"GPU-b"});
  CHECK(gpus.at(0).at("power_watts") == 30.5);
  CHECK(gpus.at(1).at("numa_node") == 1);
  const std::string line = R"(trainyard_gpu_temperature_celsius{agent="box",slot="1",uuid="GPU-b",)"
                           R"(name="NVIDIA H100 80GB HBM3"} 52)";
  CHECK(eventually([&] { return get(yard.url("/metrics")).body.find(line) != std::string::npos; }));
}

TEST_CASE("a job waits while a stranger uses the GPU that it asks for", "[e2e][gpu]") {
  Yard yard;
  start_agent_with_gpus(yard);
  const std::string stranger = std::to_string(::getpid());
  show(yard, two_gpus + ("process 1 " + stranger + " 2048\n"));
  REQUIRE(has_strangers(yard, 1));

  const std::string id = yard.submit(a_job_for("H100"));
  yard.wait_for(id, [](const auto& job) { return job.at("status").at("reason") == "NO_CAPACITY"; });
  const auto explained = get(yard.url("/v1/jobs/" + id + "/explain")).json();
  CHECK_THAT(explained.at("message").get<std::string>(),
             Catch::Contains("slot 1: is used by process " + stranger +
                             " (2,048 MiB), which is not ours"));
  CHECK(explained.at("hosts").at(0).at("missing").at("gpus") == 1);

  show(yard, two_gpus);
  yard.wait_for_state(id, "running");
}

TEST_CASE("a GPU that no agent has is refused at submit, by its field", "[e2e][gpu]") {
  Yard yard;
  start_agent_with_gpus(yard);
  const Answer answer = post(yard.url("/v1/jobs"), a_job_for("A100").dump());
  CHECK(answer.status == 422);
  CHECK(answer.json().at("errors").at(0).at("pointer") == "/roles/worker/resources/gpu_name");
}

TEST_CASE("a job with GPUs on a host without a driver ends as NO_GPU, with device auto on the CPU",
          "[e2e][gpu]") {
  if (dlopen("libcuda.so.1", RTLD_NOW) != nullptr) {
    WARN("skipped: this host has a driver");
    return;
  }
  Yard yard;
  yard.start_agent("a", {"--cpus", "4", "--gpus", "1"});
  yard.wait_for_agents(1);
  auto spec = small_job(200);
  spec["roles"] = {{"ps", 1}, {"worker", {{"replicas", 1}, {"resources", {{"gpus", 1}}}}}};
  spec["run_policy"]["max_restarts"] = 0;
  const std::string fails = yard.submit(spec);
  yard.wait_for_state(fails, "failed");
  const auto status = get(yard.url("/v1/jobs/" + fails)).json().at("status");
  CHECK(status.dump().find("NO_GPU") != std::string::npos);
  CHECK(status.dump().find("this host has no NVIDIA driver") != std::string::npos);

  spec["training"]["device"] = "auto";
  const std::string trains = yard.submit(spec);
  yard.wait_for_state(trains, "succeeded");
  const std::string events = get(yard.url("/v1/jobs/" + trains + "/events")).body;
  CHECK_THAT(events, Catch::Contains("computes on the CPU: this host has no NVIDIA driver"));
}

// A yard whose box has doubles of GPUs, and jobs that are small enough for them.
#pragma once

#include <string>

#include "tests/e2e/gpu_host.h"
#include "tests/e2e/yard.h"

namespace trainyard::e2e::gpu_scene {

using nlohmann::json;

inline constexpr const char* four_gpus =
    "gpu GPU-a 512 9 0 Double A\n"
    "gpu GPU-b 512 9 0 Double B\n"
    "gpu GPU-c 512 8 0 Double C\n"
    "gpu GPU-d 512 8 0 Double D\n";

inline constexpr const char* four_of_a_kind =
    "gpu GPU-a 512 9 0 Double\n"
    "gpu GPU-b 512 9 0 Double\n"
    "gpu GPU-c 512 9 0 Double\n"
    "gpu GPU-d 512 9 0 Double\n";

struct GpuYard {
  explicit GpuYard(const std::string& gpus = four_gpus) {
    host.show(gpus);
    yard.start_agent("box", {"--cpus", "32", "--gpus", "4", "--runtime", host.runtime()});
    yard.wait_for_agents(1);
  }

  GpuHost host;
  Yard yard;
};

inline json job_of(const json& model, int max_steps) {
  json spec = small_job(max_steps);
  spec["model"] = model;
  spec["dataset"] = {{"name", "synthetic_digits"}, {"train_examples", 400}, {"test_examples", 50}};
  spec["training"]["batch_size"] = 8;
  spec["training"]["evaluate_every_steps"] = max_steps;
  spec["checkpoint"]["every_steps"] = 10;
  return spec;
}

inline json convnet() {
  return json::parse(R"({
    "layers": [{"op": "avg_pool2d", "size": 2},
               {"op": "conv2d", "filters": 6, "kernel": 3, "stride": 2, "padding": 1},
               "batch_norm", "relu", "flatten", {"op": "dropout", "rate": 0.3},
               {"op": "dense", "units": "classes"}],
    "loss": "softmax_cross_entropy", "metrics": ["accuracy"]})");
}

inline json on(const std::string& device, json spec) {
  spec["training"]["device"] = device;
  json& worker = spec["roles"]["worker"];
  if (worker.is_number()) worker = {{"replicas", worker}};
  if (device != "cpu") worker["resources"] = {{"gpus", 1}};
  return spec;
}

inline std::string log_of_worker(Yard& yard, const std::string& id, int index) {
  const std::string task = "worker/" + std::to_string(index);
  return get(yard.url("/v1/jobs/" + id + "/logs?task=" + task + "&tail=1000")).body;
}

inline std::string routes_of_worker(Yard& yard, const std::string& id, int index) {
  const json routes = yard.job(id).at("status").at("routes");
  return routes.at("worker/" + std::to_string(index)).get<std::string>();
}

}  // namespace trainyard::e2e::gpu_scene

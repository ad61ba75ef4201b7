// All-reduces of workers whose shares of the parameters live on their GPUs, which are doubles: what
// they make are the bytes of the CPU, whatever happens to them.
#include <signal.h>

#include <catch2/catch.hpp>

#include "tests/e2e/gpu_scene.h"
#include "tests/environment.h"

namespace trainyard::e2e::gpu_scene {
namespace {

// A chunk for each worker or more, some of it frozen, and state behind them.
json layers() {
  return json::parse(R"({
    "layers": [{"op": "avg_pool2d", "size": 2},
               {"op": "conv2d", "filters": 6, "kernel": 3, "padding": 1, "freeze": true},
               "batch_norm", "relu", "flatten", {"op": "dense", "units": 40}, "relu",
               {"op": "dense", "units": "classes"}],
    "loss": "softmax_cross_entropy", "metrics": ["accuracy"]})");
}

json all_reduce(int workers, int max_steps, const json& optimizer) {
  json spec = job_of(layers(), max_steps);
  spec["training"].erase("batch_size");
  spec["training"].update({{"strategy", "all_reduce"},
                           {"global_batch_size", 48},
                           {"micro_batch_size", 8},
                           {"optimizer", optimizer}});
  spec["roles"] = {{"worker", workers}};
  return spec;
}

const json adamw{
    {"name", "adamw"}, {"weight_decay", 0.02}, {"decay", "matrices"}, {"clip_norm", 0.5}};

std::string sha_of(Yard& yard, const json& spec) {
  const std::string id = yard.submit(spec);
  yard.wait_for_state(id, "succeeded");
  return yard.model_sha256(id);
}

std::string message_of_failed(Yard& yard, const std::string& id) {
  const json status = yard.wait_for_state(id, "failed").at("status");
  CHECK(status.at("reason") == "NO_GPU");
  return status.at("message").get<std::string>();
}

}  // namespace

TEST_CASE("shares on GPUs end with the bytes of a CPU, however many workers", "[e2e][gpu]") {
  GpuYard on_gpus;
  const json momentum{{"name", "momentum"}, {"weight_decay", 0.01}};
  for (const json& optimizer : {json("sgd"), momentum, json("adam"), adamw}) {
    INFO(optimizer);
    const std::string whole = sha_of(on_gpus.yard, on("cpu", all_reduce(2, 12, optimizer)));
    for (const int workers : {1, 2, 3}) {
      INFO(workers << " workers");
      const std::string id = on_gpus.yard.submit(on("gpu", all_reduce(workers, 12, optimizer)));
      on_gpus.yard.wait_for_state(id, "succeeded");
      CHECK(on_gpus.yard.model_sha256(id) == whole);
      const std::string log = log_of_worker(on_gpus.yard, id, workers - 1);
      const bool is_there = log.find("the share is updated on a GPU") != std::string::npos;
      CHECK(is_there == (optimizer != json("sgd")));
    }
  }
}

TEST_CASE("shares on GPUs have their bytes by each wire, and beside several GPUs", "[e2e][gpu]") {
  GpuYard on_gpus;
  for (const std::string wire : {"bfloat16", "onebit"}) {
    INFO(wire);
    json spec = all_reduce(2, 12, adamw);
    spec["training"]["wire"] = wire;
    CHECK(sha_of(on_gpus.yard, on("gpu", spec)) == sha_of(on_gpus.yard, on("cpu", spec)));
  }
  json several = on("gpu", all_reduce(2, 12, adamw));
  several["roles"]["worker"]["resources"]["gpus"] = 2;
  CHECK(sha_of(on_gpus.yard, several) == sha_of(on_gpus.yard, on("cpu", all_reduce(2, 12, adamw))));
}

TEST_CASE("a worker that is killed with its share on a GPU leaves the same bytes", "[e2e][gpu]") {
  GpuYard on_gpus;
  Yard& yard = on_gpus.yard;
  constexpr int steps = either(300, 100);
  const json spec = all_reduce(2, steps, adamw);
  const std::string whole = yard.submit(on("cpu", spec));
  for (const int rank : {1, 0}) {
    INFO("worker/" << rank);
    const std::string id = yard.submit(on("gpu", spec));
    yard.wait_for_step(id, 25);
    REQUIRE(::kill(yard.pid_of(id, "worker", rank), SIGKILL) == 0);
    const json job = yard.wait_for_state(id, "succeeded");
    CHECK(job.at("status").at("attempt") == 2);
    yard.wait_for_state(whole, "succeeded");
    CHECK(yard.model_sha256(id) == yard.model_sha256(whole));
  }
}

TEST_CASE("an all-reduce goes on from its checkpoint on another kind of device", "[e2e][gpu]") {
  GpuYard on_gpus;
  Yard& yard = on_gpus.yard;
  const auto resumed_on = [&](const std::string& device, int workers, const std::string& from) {
    json spec = on(device, all_reduce(workers, 20, adamw));
    spec["checkpoint"]["resume_from"] = from + "/10";
    return sha_of(yard, spec);
  };
  const std::string whole = sha_of(yard, on("cpu", all_reduce(2, 20, adamw)));
  const std::string on_cpu = yard.submit(on("cpu", all_reduce(2, 10, adamw)));
  const std::string on_gpu = yard.submit(on("gpu", all_reduce(3, 10, adamw)));
  yard.wait_for_state(on_cpu, "succeeded");
  yard.wait_for_state(on_gpu, "succeeded");
  CHECK(yard.model_sha256(on_gpu) == yard.model_sha256(on_cpu));
  CHECK(resumed_on("gpu", 3, on_cpu) == whole);
  CHECK(resumed_on("cpu", 2, on_gpu) == whole);
  CHECK(resumed_on("gpu", 2, on_gpu) == whole);
}

TEST_CASE("a worker of an all-reduce says why its share stays with the host", "[e2e][gpu]") {
  std::string small_gpus;
  for (const std::string id : {"a", "b", "c", "d"}) {
    small_gpus += "gpu GPU-" + id + " 80 9 0 Double " + id + "\n";
  }
  GpuYard on_gpus(small_gpus);
  json spec = all_reduce(1, 3, "adam");
  spec["model"] = {{"name", "mlp"}, {"hidden", {1000, 1000}}};
  const auto routes_of = [&](const json& one) {
    const std::string id = on_gpus.yard.submit(one);
    on_gpus.yard.wait_for_state(id, "succeeded");
    return std::pair(routes_of_worker(on_gpus.yard, id, 0), on_gpus.yard.model_sha256(id));
  };
  const auto [routes, bytes] = routes_of(on("gpu", spec));
  CHECK_THAT(routes, Catch::Contains("; its share of the parameters stays with the host: the GPU "
                                     "has too little memory for it"));
  CHECK(bytes == sha_of(on_gpus.yard, on("cpu", spec)));
  CHECK_THAT(routes_of(on("gpu", all_reduce(1, 3, "adam"))).first,
             !Catch::Contains("stays with the host"));
}

TEST_CASE("a GPU that fails while it updates a share is told as NO_GPU", "[e2e][gpu]") {
  GpuYard on_gpus;
  Yard& yard = on_gpus.yard;
  const std::string sentence = "the GPU's work: unspecified launch failure";
  json spec = all_reduce(2, 40, adamw);
  spec["checkpoint"]["every_steps"] = 5;
  const std::string whole = yard.submit(on("cpu", spec));
  spec["run_policy"]["max_restarts"] = 0;
  on_gpus.host.fail_after_updates(60, sentence);
  const std::string fails = yard.submit(on("gpu", spec));
  CHECK_THAT(message_of_failed(yard, fails), Catch::Contains(sentence));
  CHECK(on_gpus.host.has_failed_to_update());

  spec["run_policy"]["max_restarts"] = 1;
  on_gpus.host.fail_after_updates(60, sentence);
  const std::string recovers = yard.submit(on("gpu", spec));
  CHECK(yard.wait_for_state(recovers, "succeeded").at("status").at("attempt") == 2);
  CHECK(on_gpus.host.has_failed_to_update());
  yard.wait_for_state(whole, "succeeded");
  CHECK(yard.model_sha256(recovers) == yard.model_sha256(whole));
}

}  // namespace trainyard::e2e::gpu_scene

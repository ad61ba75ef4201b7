// Whole jobs whose workers compute on GPUs: doubles of them, so the same server, agents and
// runtimes, but for the kernels, which a loop runs in memory that the host may not touch. What a
// job makes are the bytes of the CPU, whatever happens to it.
#include <signal.h>

#include <catch2/catch.hpp>
#include <map>

#include "tests/e2e/gpu_scene.h"
#include "tests/environment.h"

namespace trainyard::e2e::gpu_scene {
namespace {

json lstm() {
  return json::parse(R"({
    "layers": [{"op": "reshape", "shape": [28, 28]}, {"op": "lstm", "units": 8, "output": "last"},
               {"op": "dense", "units": "classes"}],
    "loss": "softmax_cross_entropy", "metrics": ["accuracy"]})");
}

std::string prose() {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the yard has " + std::to_string(i * i % 97) + " wagons. ";
  return text;
}

// Both at once; the bytes of both.
void require_same_bytes(Yard& yard, const json& spec) {
  const std::string here = yard.submit(on("cpu", spec));
  const std::string there = yard.submit(on("gpu", spec));
  yard.wait_for_state(here, "succeeded");
  yard.wait_for_state(there, "succeeded");
  CHECK_THAT(routes_of_worker(yard, there, 0), Catch::StartsWith("computes on Double "));
  CHECK(yard.model_sha256(here) == yard.model_sha256(there));
}

// Of workers with so many GPUs, beside one on the CPU.
void require_same_bytes_of_several(Yard& yard, const json& spec, const std::vector<int>& gpus) {
  const std::string whole = yard.submit(on("cpu", spec));
  yard.wait_for_state(whole, "succeeded");
  for (const int count : gpus) {
    INFO(count << " GPUs");
    json divided = on("gpu", spec);
    divided["roles"]["worker"]["resources"]["gpus"] = count;
    const std::string id = yard.submit(divided);
    yard.wait_for_state(id, "succeeded");
    CHECK(yard.model_sha256(id) == yard.model_sha256(whole));
  }
}

}  // namespace

TEST_CASE("a model that was trained on GPUs has the bytes of a CPU", "[e2e][gpu]") {
  GpuYard on_gpus;
  std::vector<json> specs{job_of(convnet(), 24), job_of(lstm(), 12), job_of(convnet(), 12),
                          job_of(convnet(), 12)};
  specs[2]["training"]["strategy"] = "local";
  specs[2]["roles"] = {{"worker", 1}};
  specs[3]["training"]["strategy"] = "all_reduce";
  specs[3]["roles"] = {{"worker", 2}};
  for (const json& spec : specs) require_same_bytes(on_gpus.yard, spec);
}

TEST_CASE("what a job asks for beside its model is the same on GPUs", "[e2e][gpu]") {
  GpuYard on_gpus;
  const auto with = [](const json& training) {
    json spec = job_of(convnet(), 12);
    spec["training"].update(training);
    return spec;
  };
  json micro_batches = with({{"global_batch_size", 48}, {"micro_batch_size", 8}});
  micro_batches["training"].erase("batch_size");
  require_same_bytes(on_gpus.yard, micro_batches);
  micro_batches["training"]["strategy"] = "local";
  micro_batches["roles"] = {{"worker", 1}};
  require_same_bytes(on_gpus.yard, micro_batches);
  require_same_bytes_of_several(on_gpus.yard, micro_batches, {2, 3, 4});
  micro_batches["training"]["optimizer"] = {{"name", "adam"}, {"clip_norm", 0.5}};
  require_same_bytes_of_several(on_gpus.yard, micro_batches, {1, 3});
  micro_batches["training"]["optimizer"] = "adam";
  require_same_bytes(on_gpus.yard, with({{"wire", "bfloat16"}}));
  json all_reduce = with({{"wire", "bfloat16"}, {"strategy", "all_reduce"}});
  all_reduce["roles"] = {{"worker", 2}};
  require_same_bytes(on_gpus.yard, all_reduce);
  micro_batches["training"].update({{"wire", "bfloat16"}, {"strategy", "all_reduce"}});
  micro_batches["roles"]["worker"] = 2;
  require_same_bytes_of_several(on_gpus.yard, micro_batches, {2});
  require_same_bytes(on_gpus.yard, with({{"wire", "onebit"}}));
  require_same_bytes(on_gpus.yard, with({{"optimizer", {{"name", "adam"}, {"clip_norm", 0.5}}}}));
  require_same_bytes(on_gpus.yard, with({{"partitioning", "greedy"}}));
}

TEST_CASE("a broadcast between several GPUs of a local worker changes no byte", "[e2e][gpu]") {
  GpuYard on_gpus(std::string(four_gpus) + "broadcasts\n");
  json spec = job_of(convnet(), 12);
  spec["training"].erase("batch_size");
  spec["training"].update({{"strategy", "local"},
                           {"global_batch_size", 48},
                           {"micro_batch_size", 8},
                           {"optimizer", {{"name", "adam"}, {"clip_norm", 0.5}}}});
  spec["roles"] = {{"worker", 1}};
  const std::string whole = on_gpus.yard.submit(on("cpu", spec));
  on_gpus.yard.wait_for_state(whole, "succeeded");
  for (const int gpus : {2, 3, 4}) {
    INFO(gpus << " GPUs");
    json divided = on("gpu", spec);
    divided["roles"]["worker"]["resources"]["gpus"] = gpus;
    const std::string id = on_gpus.yard.submit(divided);
    on_gpus.yard.wait_for_state(id, "succeeded");
    CHECK(on_gpus.yard.model_sha256(id) == on_gpus.yard.model_sha256(whole));
    CHECK_THAT(log_of_worker(on_gpus.yard, id, 0),
               Catch::Contains(gpus == 2 ? "copies" : "a ring of mirrors"));
  }
}

TEST_CASE("a local worker says why its parameters stay with the host", "[e2e][gpu]") {
  std::string small_gpus;
  for (const std::string id : {"a", "b", "c", "d"}) {
    small_gpus += "gpu GPU-" + id + " 96 9 0 Double " + id + "\n";
  }
  GpuYard on_gpus(small_gpus);
  json spec = on("gpu", job_of({{"name", "mlp"}, {"hidden", {1000, 1000}}}, 3));
  spec["training"].update({{"strategy", "local"}, {"optimizer", "adam"}});
  spec["roles"].erase("ps");
  spec["roles"]["worker"]["replicas"] = 1;
  const auto routes_of = [&](const json& one) {
    const std::string id = on_gpus.yard.submit(one);
    on_gpus.yard.wait_for_state(id, "succeeded");
    return routes_of_worker(on_gpus.yard, id, 0);
  };
  CHECK_THAT(routes_of(spec),
             Catch::Contains("; its parameters stay with the host: the GPU has too "
                             "little memory for them"));
  spec["model"] = convnet();
  CHECK_THAT(routes_of(spec), !Catch::Contains("stay with the host"));
}

TEST_CASE("texts and tables of rows are learned on GPUs as on CPUs", "[e2e][gpu]") {
  GpuYard on_gpus;
  std::string csv = "text,label\n";
  for (int i = 0; i < 60; ++i) {
    csv += i % 2 == 0 ? "all is well here,good\n" : "it is bad and goes on and on,bad\n";
  }
  json spec = job_of({{"name", "lstm_classifier"}, {"embedding_size", 4}, {"units", 4}}, 12);
  spec["dataset"] = {{"name", "notes"},
                     {"format", "text"},
                     {"path", on_gpus.yard.folder().write("notes.csv", csv)},
                     {"tokenizer", {{"name", "words"}, {"vocabulary", 12}}},
                     {"length", 8},
                     {"buckets", {4, 8}}};
  require_same_bytes(on_gpus.yard, spec);

  spec["model"] = json::parse(R"({
    "layers": [{"op": "embedding", "size": 4, "storage": "rows"}, {"op": "gru", "units": 4},
               {"op": "dense", "units": "classes"}],
    "loss": "softmax_cross_entropy"})");
  require_same_bytes(on_gpus.yard, spec);

  spec["model"] = {{"name", "gpt"}, {"width", 16}, {"heads", 2}, {"depth", 1}, {"dropout", 0.1}};
  spec["dataset"] = {{"name", "prose"},
                     {"format", "tokens"},
                     {"path", on_gpus.yard.folder().write("prose.txt", prose())},
                     {"tokenizer", {{"name", "bytes"}}},
                     {"test_fraction", 0.1},
                     {"length", 16}};
  require_same_bytes(on_gpus.yard, spec);
}

TEST_CASE("each worker has a GPU of its own", "[e2e][gpu]") {
  GpuYard on_gpus;
  const std::string id = on_gpus.yard.submit(on("auto", job_of(convnet(), 4)));
  on_gpus.yard.wait_for_state(id, "succeeded");
  const std::string one = routes_of_worker(on_gpus.yard, id, 0);
  const std::string other = routes_of_worker(on_gpus.yard, id, 1);
  INFO(one << ", " << other);
  CHECK(one.find("computes on Double ") == 0);
  CHECK(other.find("computes on Double ") == 0);
  CHECK(one.substr(0, 20) != other.substr(0, 20));
}

TEST_CASE("workers that are killed on their GPUs leave the same bytes", "[e2e][gpu]") {
  GpuYard on_gpus;
  Yard& yard = on_gpus.yard;
  constexpr int steps = either(1500, 1000);
  const json spec = job_of(convnet(), steps);
  const std::string whole = yard.submit(on("cpu", spec));
  for (const int rank : {1, 0}) {
    INFO("worker/" << rank);
    const std::string id = yard.submit(on("gpu", spec));
    yard.wait_for_step(id, 25);
    REQUIRE(::kill(yard.pid_of(id, "worker", rank), SIGKILL) == 0);
    const json job = yard.wait_for_state(id, "succeeded");
    // With the chief, which is worker/0, all begin again at the last checkpoint.
    CHECK(job.at("status").at("attempt") == (rank == 0 ? 2 : 1));
    yard.wait_for_state(whole, "succeeded");
    CHECK(yard.model_sha256(id) == yard.model_sha256(whole));
  }
}

TEST_CASE("a job goes on from its checkpoint on another kind of device", "[e2e][gpu]") {
  GpuYard on_gpus;
  Yard& yard = on_gpus.yard;
  const auto begun_on = [&](const std::string& device) {
    return yard.submit(on(device, job_of(convnet(), 10)));
  };
  const auto resumed_on = [&](const std::string& device, const std::string& from) {
    json spec = on(device, job_of(convnet(), 20));
    spec["checkpoint"]["resume_from"] = from + "/10";
    return yard.submit(spec);
  };
  const std::string whole = yard.submit(on("cpu", job_of(convnet(), 20)));
  const std::string first = begun_on("cpu");
  const std::string second = begun_on("gpu");
  yard.wait_for_state(first, "succeeded");
  yard.wait_for_state(second, "succeeded");
  const std::string to_gpu = resumed_on("gpu", first);
  const std::string to_cpu = resumed_on("cpu", second);
  for (const std::string& id : {whole, to_gpu, to_cpu}) yard.wait_for_state(id, "succeeded");
  CHECK(yard.model_sha256(to_gpu) == yard.model_sha256(whole));
  CHECK(yard.model_sha256(to_cpu) == yard.model_sha256(whole));
}

TEST_CASE("a GPU that fails in the middle of a step is told as NO_GPU", "[e2e][gpu]") {
  GpuYard on_gpus;
  Yard& yard = on_gpus.yard;
  json spec = on("auto", job_of(convnet(), 40));
  spec["checkpoint"]["every_steps"] = 2;
  spec["run_policy"]["max_restarts"] = 0;
  on_gpus.host.fail_after(100, "the GPU's work: unspecified launch failure");
  const std::string fails = yard.submit(spec);
  const json job = yard.wait_for_state(fails, "failed");
  CHECK(on_gpus.host.has_failed());
  CHECK(job.at("status").at("reason") == "NO_GPU");
  CHECK_THAT(job.at("status").at("message").get<std::string>(),
             Catch::Contains("the GPU's work: unspecified launch failure"));

  // Once is not always: the gang begins again.
  spec["run_policy"]["max_restarts"] = 1;
  on_gpus.host.fail_after(100, "a kernel's launch: unspecified launch failure");
  const std::string recovers = yard.submit(spec);
  const std::string whole = yard.submit(on("cpu", job_of(convnet(), 40)));
  const json recovered = yard.wait_for_state(recovers, "succeeded");
  CHECK(on_gpus.host.has_failed());
  CHECK(recovered.at("status").at("attempt") == 2);
  CHECK(recovered.at("status").at("restarts") == json{{"user", 1}, {"infra", 0}});
  yard.wait_for_state(whole, "succeeded");
  CHECK(yard.model_sha256(recovers) == yard.model_sha256(whole));
}

TEST_CASE("one GPU of several that fails costs no more than the steps since the checkpoint",
          "[e2e][gpu]") {
  GpuYard on_gpus;
  Yard& yard = on_gpus.yard;
  json spec = job_of(convnet(), 40);
  spec["training"].erase("batch_size");
  spec["training"].update(
      {{"strategy", "local"}, {"global_batch_size", 32}, {"micro_batch_size", 8}});
  spec["roles"] = {{"worker", 1}};
  spec["checkpoint"]["every_steps"] = 5;
  spec["run_policy"]["max_restarts"] = 1;
  const std::string whole = yard.submit(on("cpu", spec));
  spec = on("gpu", spec);
  spec["roles"]["worker"]["resources"]["gpus"] = 3;
  on_gpus.host.fail_after(400, "the GPU's work: unspecified launch failure");
  const std::string recovers = yard.submit(spec);
  const json recovered = yard.wait_for_state(recovers, "succeeded");
  CHECK(on_gpus.host.has_failed());
  CHECK(recovered.at("status").at("attempt") == 2);
  yard.wait_for_state(whole, "succeeded");
  CHECK(yard.model_sha256(recovers) == yard.model_sha256(whole));
}

}  // namespace trainyard::e2e::gpu_scene

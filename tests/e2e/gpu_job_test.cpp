// Whole jobs whose workers compute on GPUs: doubles of them, so the same server, agents and
// runtimes, but for the kernels, which a loop runs in memory that the host may not touch. What a
// job makes are the bytes of the CPU, whatever happens to it.
#include <signal.h>

#include <catch2/catch.hpp>
#include <map>

#include "tests/e2e/gpu_host.h"
#include "tests/e2e/yard.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

using nlohmann::json;

constexpr const char* four_gpus =
    "gpu GPU-a 512 9 0 Double A\n"
    "gpu GPU-b 512 9 0 Double B\n"
    "gpu GPU-c 512 8 0 Double C\n"
    "gpu GPU-d 512 8 0 Double D\n";

constexpr const char* four_of_a_kind =
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

json job_of(const json& model, int max_steps) {
  json spec = small_job(max_steps);
  spec["model"] = model;
  spec["dataset"] = {{"name", "synthetic_digits"}, {"train_examples", 400}, {"test_examples", 50}};
  spec["training"]["batch_size"] = 8;
  spec["training"]["evaluate_every_steps"] = max_steps;
  spec["checkpoint"]["every_steps"] = 10;
  return spec;
}

json convnet() {
  return json::parse(R"({
    "layers": [{"op": "avg_pool2d", "size": 2},
               {"op": "conv2d", "filters": 6, "kernel": 3, "stride": 2, "padding": 1},
               "batch_norm", "relu", "flatten", {"op": "dropout", "rate": 0.3},
               {"op": "dense", "units": "classes"}],
    "loss": "softmax_cross_entropy", "metrics": ["accuracy"]})");
}

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

json on(const std::string& device, json spec) {
  spec["training"]["device"] = device;
  json& worker = spec["roles"]["worker"];
  if (worker.is_number()) worker = {{"replicas", worker}};
  if (device != "cpu") worker["resources"] = {{"gpus", 1}};
  return spec;
}

std::string routes_of_worker(Yard& yard, const std::string& id, int index) {
  const json routes = yard.job(id).at("status").at("routes");
  return routes.at("worker/" + std::to_string(index)).get<std::string>();
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
  constexpr int steps = long_run(500);
  const json spec = job_of(convnet(), steps);
  const std::string id = yard.submit(on("gpu", spec));
  const std::string whole = yard.submit(on("cpu", spec));
  yard.wait_for_step(id, steps / 20);
  const pid_t killed = yard.pid_of(id, "worker", 1);
  REQUIRE(::kill(killed, SIGKILL) == 0);
  yard.wait_for(id, [&](const json&) { return yard.pid_of(id, "worker", 1) != killed; });
  // The chief: all begin again with the last checkpoint.
  REQUIRE(::kill(yard.pid_of(id, "worker", 0), SIGKILL) == 0);
  const json job = yard.wait_for_state(id, "succeeded");
  CHECK(job.at("status").at("attempt") == 2);
  yard.wait_for_state(whole, "succeeded");
  CHECK(yard.model_sha256(id) == yard.model_sha256(whole));
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

// In bfloat16 there are no bytes of a CPU to be had, but the same ones each time.
TEST_CASE("in bfloat16 a job has the same bytes with other workers, GPUs and deaths",
          "[e2e][gpu]") {
  GpuYard on_gpus(four_of_a_kind);
  Yard& yard = on_gpus.yard;
  constexpr int steps = long_run(300);
  const auto submitted = [&](const std::string& precision, int workers, int gpus) {
    json spec = job_of(convnet(), steps);
    spec["training"].erase("batch_size");
    spec["training"].update(
        {{"precision", precision}, {"global_batch_size", 32}, {"micro_batch_size", 8}});
    spec["roles"]["worker"] = {{"replicas", workers}, {"resources", {{"gpus", gpus}}}};
    return yard.submit(spec);
  };
  const auto bytes_of = [&](const std::string& id) {
    yard.wait_for_state(id, "succeeded");
    return yard.model_sha256(id);
  };
  const std::string killed = submitted("bfloat16", 2, 1);
  yard.wait_for_step(killed, steps / 10);
  REQUIRE(::kill(yard.pid_of(killed, "worker", 1), SIGKILL) == 0);
  const std::string of_two = bytes_of(killed);
  CHECK_THAT(routes_of_worker(yard, killed, 0), Catch::Contains(" in bfloat16"));
  CHECK(bytes_of(submitted("bfloat16", 1, 1)) == of_two);
  CHECK(bytes_of(submitted("bfloat16", 1, 2)) == of_two);
  CHECK(bytes_of(submitted("float32", 1, 1)) != of_two);
  CHECK(bytes_of(submitted("tf32", 1, 1)) != of_two);
}

TEST_CASE("in bfloat16 workers on different kinds of GPUs are told apart", "[e2e][gpu]") {
  GpuYard on_gpus;
  Yard& yard = on_gpus.yard;
  json spec = on("gpu", job_of(convnet(), 40));
  spec["training"]["precision"] = "bfloat16";
  spec["run_policy"]["max_restarts"] = 0;
  json all_reduce = spec;
  all_reduce["training"]["strategy"] = "all_reduce";
  all_reduce["roles"].erase("ps");
  for (const json& one : {spec, all_reduce}) {
    const json job = yard.wait_for_state(yard.submit(one), "failed");
    INFO(job.at("status").dump());
    CHECK(job.at("status").at("reason") == "PEER_DIFFERS");
    CHECK_THAT(job.at("status").at("message").get<std::string>(),
               Catch::Contains("this worker computes on Double ") &&
                   Catch::Contains(", another one on Double "));
  }

  spec["training"]["deterministic"] = false;
  const std::string whatever = yard.submit(spec);
  spec["training"]["deterministic"] = true;
  spec["roles"]["worker"]["replicas"] = 1;
  const std::string of_a_kind = yard.submit(spec);
  yard.wait_for_state(whatever, "succeeded");
  yard.wait_for_state(of_a_kind, "succeeded");
}

TEST_CASE("in bfloat16 a job is told that its checkpoint is of another kind of GPU", "[e2e][gpu]") {
  GpuYard on_gpus(four_of_a_kind);
  Yard& yard = on_gpus.yard;
  const auto submitted = [&](const std::string& strategy, const std::string& resumes) {
    json spec = on("gpu", job_of(convnet(), resumes.empty() ? 10 : 20));
    spec["training"].update({{"precision", "bfloat16"}, {"strategy", strategy}});
    spec["roles"]["worker"]["replicas"] = strategy == "local" ? 1 : 2;
    if (strategy != "parameter_server") spec["roles"].erase("ps");
    if (!resumes.empty()) spec["checkpoint"]["resume_from"] = resumes + "/10";
    return yard.submit(spec);
  };
  const auto routes_of_done = [&](const std::string& id) {
    yard.wait_for_state(id, "succeeded");
    return routes_of_worker(yard, id, 0);
  };
  std::string other_kind = four_of_a_kind;
  for (std::size_t at = 0; (at = other_kind.find("Double", at)) != std::string::npos; at += 10) {
    other_kind.insert(at, "New ");
  }
  const std::string is_told = "its checkpoint was computed on Double in bfloat16, build ";
  std::map<std::string, std::string> begun;
  for (const char* strategy : {"parameter_server", "all_reduce", "local"}) {
    begun[strategy] = submitted(strategy, "");
  }
  for (const auto& [strategy, id] : begun) {
    INFO(strategy);
    CHECK_THAT(routes_of_done(id), !Catch::Contains("its checkpoint"));
    CHECK_THAT(yard.model_file(id),
               Catch::Contains(R"("computed_on":"Double in bfloat16, build )") &&
                   Catch::Contains(R"( by nvcc 13.0.0")"));
    CHECK_THAT(routes_of_done(submitted(strategy, id)), !Catch::Contains("its checkpoint"));
  }
  on_gpus.host.show(std::string(four_of_a_kind) + "toolkit nvcc 12.4.99\n");
  CHECK_THAT(routes_of_done(submitted("parameter_server", begun.at("parameter_server"))),
             Catch::StartsWith("computes on Double in bfloat16; " + is_told) &&
                 Catch::Contains(" by nvcc 13.0.0: from here on last bits are others"));
  on_gpus.host.show(other_kind);
  for (const auto& [strategy, id] : begun) {
    INFO(strategy);
    CHECK_THAT(routes_of_done(submitted(strategy, id)),
               Catch::StartsWith("computes on New Double in bfloat16; " + is_told));
  }
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

// Whole jobs in the precisions of tensor cores, on doubles of GPUs.
#include <signal.h>

#include <catch2/catch.hpp>

#include "tests/e2e/gpu_scene.h"

namespace trainyard::e2e::gpu_scene {
// In bfloat16 there are no bytes of a CPU to be had, but the same ones each time.
TEST_CASE("in bfloat16 a job has the same bytes with other workers, GPUs and deaths",
          "[e2e][gpu]") {
  GpuYard on_gpus(four_of_a_kind);
  Yard& yard = on_gpus.yard;
  constexpr int steps = long_run(300);
  const auto submitted = [&](const std::string& precision, int workers, int gpus,
                             const std::string& strategy = "parameter_server") {
    json spec = job_of(convnet(), steps);
    spec["training"].erase("batch_size");
    spec["training"]["strategy"] = strategy;
    if (strategy != "parameter_server") spec["roles"].erase("ps");
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
  for (const int gpus : {1, 2}) {
    CHECK(bytes_of(submitted("bfloat16", 1, gpus, "local")) == of_two);
    CHECK(bytes_of(submitted("bfloat16", 2, gpus, "all_reduce")) == of_two);
  }
  CHECK(bytes_of(submitted("float32", 1, 1)) != of_two);
  CHECK(bytes_of(submitted("tf32", 1, 1)) != of_two);

  on_gpus.host.show(std::string(four_of_a_kind) + "libraries\n");
  const std::string alone = submitted("bfloat16", 1, 1);
  const std::string by_libraries = bytes_of(alone);
  CHECK_THAT(routes_of_worker(yard, alone, 0),
             Catch::Contains(" in bfloat16, with libraries in loops"));
  CHECK(by_libraries != of_two);
  CHECK(bytes_of(submitted("bfloat16", 2, 1)) == by_libraries);
  CHECK(bytes_of(submitted("bfloat16", 1, 2, "local")) == by_libraries);
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

  // Of one name, but one host has libraries that multiply for one of them.
  on_gpus.host.show("gpu GPU-a 4096 9 0 Double\nlibraries\ngpu GPU-b 4096 9 0 Double\n");
  for (const int gpus : {1, 2}) {
    spec["roles"]["worker"] = {{"replicas", 3 - gpus}, {"resources", {{"gpus", gpus}}}};
    const json job = yard.wait_for_state(yard.submit(spec), "failed");
    INFO(job.at("status").dump());
    CHECK(job.at("status").at("reason") == "PEER_DIFFERS");
    CHECK_THAT(job.at("status").at("message").get<std::string>(),
               Catch::Contains(" by nvcc 13.0.0 and libraries"));
  }

  on_gpus.host.show(four_gpus);
  spec["roles"]["worker"] = {{"replicas", 2}, {"resources", {{"gpus", 1}}}};
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

}  // namespace trainyard::e2e::gpu_scene

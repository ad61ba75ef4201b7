#include "agent/loop/launch.h"

#include <catch2/catch.hpp>

#include "tests/agent/loop/yard.h"

namespace trainyard::agent {
namespace {

std::string visible(const std::vector<int>& slots, const std::vector<GpuInfo>& gpus) {
  WantedTask wanted = a_wanted_task("j-1");
  wanted.gpus = slots;
  return task_environment({.wanted = wanted,
                           .runtime = "r",
                           .transport = "tcp",
                           .data_roots = {},
                           .data_cache = {},
                           .folder = "f",
                           .gpus = gpus,
                           .restore_folder = ""})
      .at("CUDA_VISIBLE_DEVICES");
}

}  // namespace

TEST_CASE("a task sees its GPUs by UUID, in the order in which they were assigned", "[gpu]") {
  const std::vector<GpuInfo> gpus{{0, "T4", 1, "GPU-a"}, {1, "T4", 1, "GPU-b"}, {2, "declared", 0}};
  CHECK(visible({1, 0}, gpus) == "GPU-b,GPU-a");
  CHECK(visible({}, gpus).empty());
  CHECK(visible({2}, gpus) == "2");
  CHECK(visible({0, 2}, gpus) == "0,2");
  CHECK(visible({1}, {}) == "1");
}

}  // namespace trainyard::agent

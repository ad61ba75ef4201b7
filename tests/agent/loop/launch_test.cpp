#include "agent/loop/launch.h"

#include <catch2/catch.hpp>

#include "schemas/wire/task_json.h"
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

TEST_CASE("a task is told how fast its GPUs are where all are of one kind", "[gpu]") {
  const ProductRates of_t4{{Precision::float32, 3}};
  const std::vector<GpuInfo> gpus{{.index = 0, .name = "T4", .product_rates = of_t4},
                                  {.index = 1, .name = "T4", .product_rates = of_t4},
                                  {.index = 2, .name = "L4", .product_rates = of_t4},
                                  {.index = 3, .name = "declared"}};
  const TempFolder folder;
  const auto told = [&](const std::vector<int>& slots) {
    WantedTask wanted = a_wanted_task("j-1");
    wanted.gpus = slots;
    REQUIRE(prepare_launch({.wanted = wanted,
                            .runtime = "r",
                            .transport = "tcp",
                            .data_roots = {},
                            .data_cache = {},
                            .folder = folder.path(),
                            .gpus = gpus,
                            .restore_folder = ""}));
    const auto context = parse_task_context(content_of(folder.path("task.json")));
    REQUIRE(context);
    return context->gpu_product_rates;
  };
  CHECK(told({1, 0}) == of_t4);
  CHECK(told({0, 2}).empty());
  CHECK(told({3}).empty());
  CHECK(told({7}).empty());
  CHECK(told({}).empty());
}

}  // namespace trainyard::agent

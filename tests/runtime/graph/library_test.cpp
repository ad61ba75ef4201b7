// What goes to libraries of the GPU's maker, by sizes alone, and how much room it has.
#include <catch2/catch.hpp>
#include <vector>

#include "runtime/graph/grid/library_conv.h"
#include "runtime/graph/grid/library_product.h"
#include "tests/conformance/mirror/host_grid.h"
#include "tests/conformance/mirror/host_library.h"

namespace trainyard::runtime {
namespace {

WindowAxis axis_of(std::int64_t pixels, std::int64_t kernel, std::int64_t stride,
                   std::int64_t before, std::int64_t after) {
  return {.pixels = pixels, .kernel = kernel, .stride = stride, .before = before, .after = after};
}

Conv2d conv_of(std::int64_t pixels, std::int64_t channels, std::int64_t filters) {
  const WindowAxis axis = axis_of(pixels, 3, 1, 1, 1);
  return {.window = {axis, axis}, .channels = channels, .filters = filters};
}

constexpr MatrixLines no_lines{};

}  // namespace

TEST_CASE("a product goes to a library if it is large and none of its sides is narrow",
          "[library]") {
  CHECK(is_worth_a_library({512, 512, 512}));
  CHECK_FALSE(is_worth_a_library({512, 512, 511}));
  CHECK(is_worth_a_library({128, 128, 128, 64}));
  CHECK(is_worth_a_library({8192, 64, 8192}));
  CHECK_FALSE(is_worth_a_library({8192, 63, 8192}));
  CHECK_FALSE(is_worth_a_library({63, 8192, 8192}));
  CHECK_FALSE(is_worth_a_library({8192, 8192, 63}));
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  CHECK(is_worth_a_library({huge, huge, huge, huge}));
}

TEST_CASE("a convolution goes to a library if it is large and its channels come in eights",
          "[library]") {
  CHECK(is_worth_a_library(conv_of(32, 64, 64), 4));
  CHECK_FALSE(is_worth_a_library(conv_of(32, 64, 64), 3));
  CHECK_FALSE(is_worth_a_library(conv_of(32, 60, 64), 64));
  CHECK_FALSE(is_worth_a_library(conv_of(32, 64, 60), 64));
  CHECK_FALSE(is_worth_a_library(conv_of(224, 3, 64), 64));
}

TEST_CASE("a convolution goes to a library if its images are counted in 32 bits", "[library]") {
  constexpr std::int64_t most = (std::int64_t{1} << 31) / (32 * 32 * 64);
  CHECK(is_countable_by_library(conv_of(32, 64, 8), most - 1));
  CHECK_FALSE(is_countable_by_library(conv_of(32, 64, 8), most));
  CHECK_FALSE(is_countable_by_library(conv_of(32, 8, 64), most));
}

TEST_CASE("a library pads as much behind an image as before it", "[library]") {
  CHECK(is_padded_alike(axis_of(28, 3, 1, 1, 1)));
  CHECK_FALSE(is_padded_alike(axis_of(28, 3, 1, 0, 1)));
  CHECK_FALSE(is_padded_alike(axis_of(28, 3, 1, 1, 0)));
  CHECK(is_padded_alike(axis_of(28, 3, 2, 1, 0)));  // no window reaches what is behind
  CHECK_FALSE(is_padded_alike(axis_of(28, 3, 2, 0, 1)));
  CHECK(is_padded_alike(axis_of(29, 3, 2, 1, 1)));
  CHECK_FALSE(is_padded_alike(axis_of(29, 3, 2, 1, 0)));
}

TEST_CASE(
    "the first algorithm that a library proposes is taken which is deterministic and has room",
    "[library]") {
  constexpr ProposedAlgorithm sound{true, true, true, 100};
  constexpr ProposedAlgorithm impossible{false, true, true, 0};
  constexpr ProposedAlgorithm by_chance{true, false, true, 0};
  constexpr ProposedAlgorithm by_cores{true, true, false, 0};
  constexpr ProposedAlgorithm large{true, true, true, 101};
  const auto chosen = [](const std::vector<ProposedAlgorithm>& proposed) {
    return choose_algorithm(proposed, 100);
  };
  CHECK(chosen({sound, sound}) == 0);
  for (const ProposedAlgorithm& bad : {impossible, by_chance, by_cores, large}) {
    CHECK(chosen({bad, sound, sound}) == 1);
    CHECK_FALSE(chosen({bad}));
  }
  CHECK_FALSE(chosen({}));
}

TEST_CASE("in bfloat16 the plan has room for both rounded sides, in lines of 16 bytes",
          "[library]") {
  HostProducts products({}, Precision::bfloat16);
  HostGrid grid({}, Precision::bfloat16, {.products = &products});
  // Of x [10, 20] and a kernel [20, 30]: the kernel's gradient reads x and the output's.
  CHECK(library_scratch(grid, {10, 30, 20}, {10, 20}, {20, 30}) ==
        (20 * 32 + 10 * 32) / 2 + 3);  // x's gradient reads most
  CHECK(rounded_scratch({10, 20}, {20, 30}) == (10 * 24 + 20 * 32) / 2 + 3);
  CHECK(rounded_scratch({10, 20}, {20, 30}, 7) == 7 * (10 * 24 + 20 * 32) / 2 + 3);
  HostGrid exact({}, Precision::tf32, {.products = &products});
  CHECK(library_scratch(exact, {10, 30, 20}, no_lines, no_lines) == 0);
  HostGrid alone({}, Precision::bfloat16);
  CHECK(library_scratch(alone, {10, 30, 20}, no_lines, no_lines) == 0);
}

TEST_CASE("the plan has room for the images that a library reads and does not find", "[library]") {
  const Conv2d conv = conv_of(5, 3, 7);
  constexpr std::int64_t examples = 2;
  constexpr std::int64_t kernel = 9 * 3 * 7;
  HostConvolutions convolutions({}, Precision::bfloat16);
  const Libraries libraries{.convolutions = &convolutions};
  CHECK(library_scratch(HostGrid({}, Precision::tf32, libraries), conv, examples) == kernel);
  // In eights, of two bytes each.
  CHECK(library_scratch(HostGrid({}, Precision::bfloat16, libraries), conv, examples) ==
        (192 + 152 + 352) / 2);
  CHECK(library_scratch(HostGrid({}, Precision::bfloat16), conv, examples) == 0);
}

}  // namespace trainyard::runtime

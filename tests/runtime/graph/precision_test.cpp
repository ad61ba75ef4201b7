// Products by tensor cores, of fewer bits than float32, run by a loop: held against what each op is
// by definition, and against sums of rounded numbers in double.
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/grid/gemm_scratch.h"
#include "runtime/graph/grid/tensor_core_words.h"
#include "schemas/types/precision_names.h"
#include "tests/conformance/known_peaks.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/conformance/mirror/word_tiles.h"
#include "tests/conformance/reference/reference.h"
#include "tests/conformance/reference/rounding.h"
#include "tests/environment.h"

using namespace trainyard;
using namespace trainyard::runtime;

namespace {

const std::vector<Precision> of_tensor_cores{Precision::tf32, Precision::bfloat16};

// Those of all others are the bytes of float32, as is asked below.
const std::set<std::string> families_that_multiply{"attention", "dense", "image", "product",
                                                   "recurrent"};

double rounded(Precision precision, float number) {
  if (precision == Precision::tf32) return Tf32Words::number(Tf32Words::pack({number}), 0);
  return from_bfloat16(to_bfloat16(number));
}

}  // namespace

TEST_CASE("in tf32 and bfloat16 an op is near its definition, and the same each time",
          "[precision]") {
  const Precision precision = GENERATE(from_range(of_tensor_cores));
  const std::string name(find_name(precision_names, precision));
  const auto family =
      GENERATE(filter([](const Family& each) { return families_that_multiply.contains(each.name); },
                      from_range(families())));
  DYNAMIC_SECTION(name << " " << family.name) {
    const double limit = reference::rounding_limit(precision, family.name);
    HostDevice device({.precision = precision});
    HostDevice late({.is_late = true, .precision = precision});
    HostDevice with_libraries({.precision = precision, .has_libraries = true});
    HostDevice late_libraries({.is_late = true, .precision = precision, .has_libraries = true});
    Random random(31);
    int number = 0;
    for (const Case& given : family.cases(random, 4)) {
      // Under a sanitizer each in one of them.
      const auto turn = static_cast<std::size_t>(number++ % 2);
      if (is_sanitized && precision != of_tensor_cores[turn]) continue;
      if (!is_finite(given)) continue;
      const Case each = reference::with_small_inputs(given);
      INFO(each.name);
      const Results found = results(each, device.kernels(), &device);
      if (reference::is_smooth(each)) CHECK(reference::too_far(each, found, limit) == "");
      CHECK(first_difference(found, results(each, late.kernels(), &late)) == "");
      const Results by_libraries = results(each, with_libraries.kernels(), &with_libraries);
      if (reference::is_smooth(each)) CHECK(reference::too_far(each, by_libraries, limit) == "");
      CHECK(first_difference(by_libraries,
                             results(each, late_libraries.kernels(), &late_libraries)) == "");
    }
  }
}

TEST_CASE("the largest tiles that occupy a GPU are taken, none of them mostly empty",
          "[precision]") {
  const auto chosen = [](std::int64_t rows, std::int64_t columns, std::int64_t parts_max) {
    const TileSetting tiles = chosen_tiles(rows, columns, parts_max);
    return std::pair(tiles.length, tiles.parts);
  };
  CHECK(chosen(8192, 8192, 1) == std::pair(128, std::int64_t{1}));
  CHECK(chosen(1408, 1536, 1) == std::pair(128, std::int64_t{1}));
  CHECK(chosen(1408, 1408, 1) == std::pair(64, std::int64_t{1}));
  CHECK(chosen(1408, 1408, 2) == std::pair(128, std::int64_t{2}));
  CHECK(chosen(8192, 10, 1) == std::pair(32, std::int64_t{1}));
  CHECK(chosen(8192, 40, 9) == std::pair(64, std::int64_t{2}));
  CHECK(chosen(200, 130, 64) == std::pair(128, std::int64_t{33}));
  CHECK(chosen(20, 20, 7) == std::pair(32, std::int64_t{7}));
}

TEST_CASE("where a product would leave a GPU idle, parts of the depth have room of their own",
          "[precision]") {
  CHECK(gemm_scratch(64, 64, 1) == 0);
  CHECK(gemm_scratch(64, 64, 9) == 9 * 64 * 64);
  CHECK(gemm_scratch(1024, 1024, 9) == 8 * 1024 * 1024);  // what a GPU's cache holds
  CHECK(gemm_scratch(1400, 1400, 9) == 4 * 1400 * 1400);
  CHECK(gemm_scratch(10'000, 100, 9) == 8 * 10'000 * 100);
  CHECK(gemm_scratch(4096, 4096, 9) == 0);  // it has tiles for all of a GPU
  CHECK(gemm_scratch(64, 64, 9, 100) == 9 * 100 * 64 * 64);
  CHECK(gemm_scratch(64, 64, 9, 600) == 0);
  CHECK(gemm_scratch(0, 64, 9) == 0);
}

TEST_CASE("the peak of a GPU is known by its name alone", "[precision]") {
  CHECK(known_peak_flops("NVIDIA H200", Precision::bfloat16) == Approx(989.4e12));
  CHECK(known_peak_flops("NVIDIA A100-SXM4-40GB", Precision::tf32) == Approx(156e12));
  CHECK(known_peak_flops("NVIDIA L4", Precision::float32) == Approx(30.3e12));
  for (const char* const name : {"", "NVIDIA", "NVIDIA H2000", "Double"}) {
    CHECK(known_peak_flops(name, Precision::bfloat16) == 0);
  }
}

TEST_CASE("products in tiles of any size are sums of rounded numbers", "[precision]") {
  const Precision precision = GENERATE(from_range(of_tensor_cores));
  const std::string name(find_name(precision_names, precision));
  const int length = GENERATE(128, 64, 32);
  const std::int64_t parts = GENERATE(1, 3);
  const auto [rows, depth, columns] = GENERATE(
      table<std::int64_t, std::int64_t, std::int64_t>({{150, 1000, 133}, {129, 770, 260}}));
  INFO(name << " " << length << " " << parts << ": " << rows << " x " << depth << " x " << columns);
  Random random(3);
  const std::vector<float> left = some_floats(random, rows * depth);
  const std::vector<float> right = some_floats(random, depth * columns);
  const std::vector<float> out =
      product_in_tiles({.precision = precision, .length = length, .parts = parts},
                       {rows, depth, columns, left, right});
  for (std::int64_t i = 0; i < 400; ++i) {
    const bool is_edge = i % 4 == 0;
    const std::int64_t row = is_edge ? rows - 1 : some_number(random, 0, rows - 1);
    const std::int64_t column = i % 8 < 2 ? columns - 1 : some_number(random, 0, columns - 1);
    double sum = 0;
    for (std::int64_t d = 0; d < depth; ++d) {
      sum += rounded(precision, left[static_cast<std::size_t>(row * depth + d)]) *
             rounded(precision, right[static_cast<std::size_t>(d * columns + column)]);
    }
    CHECK(out[static_cast<std::size_t>(row * columns + column)] ==
          Approx(sum).epsilon(1e-4).margin(1e-3));
  }
}

// Taps in quads (8 channels) and one by one (6).
TEST_CASE("convolutions have the same bits in tiles of any size", "[precision]") {
  const Precision precision = GENERATE(from_range(of_tensor_cores));
  const std::string name(find_name(precision_names, precision));
  const std::int64_t channels = GENERATE(8, 6);
  INFO(name << " " << channels);
  const WindowAxis axis{.pixels = 13, .kernel = 3, .stride = 2, .before = 1, .after = 1};
  const Conv2dOp op{{.height = axis, .width = axis}};
  Random random(6);
  const Case conv = case_of(
      "conv2d", op,
      {example_input(random, 3, {13, 13, channels}), fixed_input(random, {3, 3, channels, 130})},
      {.examples = 3});
  HostDevice device({.precision = precision});
  const std::vector<float> expected = results(conv, device.kernels(), &device).values[0].values;
  const std::vector<ConstTensor> inputs{{conv.inputs[0].values.data(), conv.inputs[0].shape},
                                        {conv.inputs[1].values.data(), conv.inputs[1].shape}};
  for (const int length : {128, 64, 32}) {
    INFO(length);
    std::vector<float> output(expected.size());
    convolve_in_tiles({.precision = precision, .length = length}, op,
                      {.inputs = inputs,
                       .output = {output.data(), conv.output},
                       .saved = {},
                       .scratch = {},
                       .feed = {},
                       .pass = Pass::train});
    CHECK(output == expected);
  }
}

TEST_CASE("a precision changes every product, and nothing else", "[precision]") {
  const Precision precision = GENERATE(from_range(of_tensor_cores));
  const std::string name(find_name(precision_names, precision));
  HostDevice exact;
  HostDevice device({.precision = precision});
  std::map<std::string, std::set<std::string>> others;  // by op, the results that differ
  for (const Family& family : families()) {
    Random random(8);
    for (const Case& each : family.cases(random, 3)) {
      const Results a = results(each, exact.kernels(), &exact);
      const Results b = results(each, device.kernels(), &device);
      for (std::size_t i = 0; i < a.values.size(); ++i) {
        if (first_difference({{}, {a.values[i]}}, {{}, {b.values[i]}}).empty()) continue;
        others[family.name + ": " + each.name].insert(a.values[i].name);
      }
    }
  }
  for (const auto& [op, which] : others) {
    INFO(name << " " << op);
    CHECK(families_that_multiply.contains(op.substr(0, op.find(':'))));
  }
  const std::set<std::string> of_two_sides{"gradient of input 0", "gradient of input 1", "output"};
  for (const char* const op :
       {"dense: matmul", "product: matrix product", "image: conv2d", "attention: attention",
        "recurrent: lstm", "recurrent: gru", "recurrent: rnn"}) {
    INFO(name << " " << op);
    for (const std::string& result : of_two_sides) CHECK(others[op].contains(result));
  }
}

// How fast a device makes products: what is measured, on the mirror device. How fast that is
// depends on who else computes here, so only that it is a rate is asked.
#include "runtime/device/product_rate.h"

#include <catch2/catch.hpp>

#include "runtime/device/product_run.h"
#include "tests/conformance/mirror/host_device.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t plenty = std::size_t{64} << 30;

}  // namespace

TEST_CASE("products become larger until one takes long enough", "[gpu]") {
  CHECK(larger_side({.side = 128, .seconds = 0, .free_bytes = plenty}) == 256);
  CHECK(larger_side({.side = 4096, .seconds = 0.0199, .free_bytes = plenty}) == 8192);
  CHECK_FALSE(larger_side({.side = 128, .seconds = 0.02, .free_bytes = plenty}));
  CHECK_FALSE(larger_side({.side = 8192, .seconds = 1e-6, .free_bytes = plenty}));
}

TEST_CASE("products become no larger than half of the free memory", "[gpu]") {
  constexpr std::size_t five_matrices = std::size_t{5} * 256 * 256 * sizeof(float);
  CHECK(larger_side({.side = 128, .seconds = 0, .free_bytes = 2 * five_matrices}) == 256);
  CHECK_FALSE(larger_side({.side = 128, .seconds = 0, .free_bytes = 2 * five_matrices - 1}));
  CHECK_FALSE(larger_side({.side = 128, .seconds = 0, .free_bytes = 0}));
}

TEST_CASE("so many products are made in a row that they take long enough", "[gpu]") {
  CHECK(products_in_a_row(1) == 1);
  CHECK(products_in_a_row(0.02) == 1);
  CHECK(products_in_a_row(0.01) == 2);
  CHECK(products_in_a_row(0.003) == 7);
  CHECK(products_in_a_row(1e-9) == 200);
  CHECK(products_in_a_row(0) == 200);
}

TEST_CASE("a device's products have a rate in each precision", "[gpu]") {
  for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bfloat16}) {
    HostDevice device({.bytes = 4 << 20, .is_late = true, .precision = precision});
    CHECK(is_product_rate(measure_product_rate(device)));
  }
}

TEST_CASE("a device without room for a product fails with its own words", "[gpu]") {
  HostDevice device({.bytes = 4096});
  CHECK_THROWS_AS(measure_product_rate(device), DeviceFailed);
}

TEST_CASE("without a plugin there is nothing to measure, and it is said why", "[gpu]") {
  const auto measured = measure_first_gpu("/no/such/plugin.so");
  REQUIRE_FALSE(measured);
  CHECK(measured.error().code == Code::unavailable);
  CHECK_FALSE(measured.error().message.empty());
}

}  // namespace trainyard::runtime

#include "runtime/math/ops/linear.h"

#include <limits>

#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("a straight line has one slope everywhere", "[linear]") {
  const Affine by{.scale = -2.5F, .shift = 0.75F};
  const auto x = random_floats(70, 1);
  std::vector<float> y = x;  // in place
  affine(by, tensor_of(std::as_const(y), {7, 10}), tensor_of(y, {7, 10}));
  std::vector<float> added(x.size(), 1.0F);
  affine_gradient(by, tensor_of(x, {70}), tensor_of(added, {70}), Write::add);
  std::vector<float> gradient = x;
  affine_gradient(by, tensor_of(std::as_const(gradient), {70}), tensor_of(gradient, {70}),
                  Write::overwrite);
  for (std::size_t i = 0; i < x.size(); ++i) {
    // Two operations, each rounded.
    volatile float product = x[i] * by.scale;
    REQUIRE(y[i] == product + by.shift);
    REQUIRE(gradient[i] == product);
    REQUIRE(added[i] == 1.0F + product);
  }
}

TEST_CASE("limits hold, and nothing flows back from beyond them", "[linear]") {
  const Limits limits{.least = -1.0F, .most = 2.0F};
  const std::vector<float> x{-3, -1, 0, 2, 2.5F, nan};
  const std::vector<float> upstream(x.size(), 4.0F);
  std::vector<float> y(x.size());
  clip(limits, tensor_of(x, {6}), tensor_of(y, {6}));
  CHECK(std::vector<float>(y.begin(), y.end() - 1) == std::vector<float>{-1, -1, 0, 2, 2});
  CHECK(std::isnan(y.back()));
  std::vector<float> gradient(x.size(), 1.0F);
  clip_gradient(limits, tensor_of(x, {6}), tensor_of(upstream, {6}), tensor_of(gradient, {6}),
                Write::overwrite);
  CHECK(gradient == std::vector<float>{0, 4, 4, 4, 0, 4});
  clip_gradient(limits, tensor_of(x, {6}), tensor_of(upstream, {6}), tensor_of(gradient, {6}),
                Write::add);
  CHECK(gradient == std::vector<float>{0, 8, 8, 8, 0, 8});
}

TEST_CASE("clipped values and their gradients are PyTorch's", "[linear][golden]") {
  const auto reference = load_golden("elements.json")["clip"];
  const Limits limits{reference["least"], reference["most"]};
  const std::vector<float> x = reference["x"];
  const std::vector<float> upstream = reference["upstream"];
  const Shape shape{std::ssize(x)};
  std::vector<float> y(x.size());
  std::vector<float> gradient(x.size());
  clip(limits, tensor_of(x, shape), tensor_of(y, shape));
  clip_gradient(limits, tensor_of(x, shape), tensor_of(upstream, shape), tensor_of(gradient, shape),
                Write::overwrite);
  require_close(y, reference["y"].get<std::vector<float>>(), 0);
  require_close(gradient, reference["x_gradient"].get<std::vector<float>>(), 0);
}

}  // namespace trainyard::runtime

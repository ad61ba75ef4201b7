// Learned positions and rotations by place.
#include "runtime/math/ops/places.h"

#include <cmath>
#include <utility>

#include "tests/golden/golden.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

std::vector<float> rotated(const Rotation& rotation, const Shape& shape,
                           const std::vector<float>& x) {
  std::vector<float> y(x.size());
  std::vector<float> scratch(
      static_cast<std::size_t>(rotation_scratch(rotation, shape[1], shape[2])));
  rotate(rotation, tensor_of(x, shape), tensor_of(y, shape), scratch);
  return y;
}

std::vector<float> rotated_back(const Rotation& rotation, const Shape& shape,
                                const std::vector<float>& upstream, Write write) {
  std::vector<float> gradient(upstream.size(), 1.0F);
  std::vector<float> scratch(
      static_cast<std::size_t>(rotation_scratch(rotation, shape[1], shape[2])));
  rotate_gradient(rotation, tensor_of(upstream, shape), tensor_of(gradient, shape), write, scratch);
  return gradient;
}

}  // namespace

TEST_CASE("pairs of features are turned by angles that grow with the place", "[places]") {
  const Rotation rotation{.heads = 2, .theta = 1000};
  const Shape shape{2, 300, 12};
  const auto x = random_floats(static_cast<std::size_t>(shape.elements()), 1);
  const std::vector<float> got = rotated(rotation, shape, x);
  std::vector<float> expected(x.size());
  for (std::size_t i = 0; i < x.size(); i += 2) {
    const auto place = static_cast<double>(i / 12 % 300);
    const auto pair = static_cast<double>(i % 6 / 2);
    const double angle = place * std::pow(1000.0, -2 * pair / 6);
    expected[i] =
        static_cast<float>(wide(x[i]) * std::cos(angle) - wide(x[i + 1]) * std::sin(angle));
    expected[i + 1] =
        static_cast<float>(wide(x[i]) * std::sin(angle) + wide(x[i + 1]) * std::cos(angle));
  }
  require_close(got, expected, 5e-7);
}

TEST_CASE("a rotation's gradient is the rotation backwards", "[places]") {
  const Rotation rotation{.heads = 3};
  const Shape shape{2, 50, 12};
  const auto x = random_floats(static_cast<std::size_t>(shape.elements()), 1);
  const std::vector<float> there = rotated(rotation, shape, x);
  require_close(rotated_back(rotation, shape, there, Write::overwrite), x, 5e-7);
  std::vector<float> added = rotated_back(rotation, shape, there, Write::add);
  for (float& value : added) value -= 1.0F;
  require_close(added, x, 1e-6);
  // In place.
  std::vector<float> y = x;
  std::vector<float> scratch(static_cast<std::size_t>(rotation_scratch(rotation, 50, 12)));
  rotate(rotation, tensor_of(std::as_const(y), shape), tensor_of(y, shape), scratch);
  require_same_bits(y, there);
}

TEST_CASE("rotations are PyTorch's", "[places][golden]") {
  const auto golden = load_golden("attention.json")["rope"];
  REQUIRE(golden.size() == 2);
  for (const auto& reference : golden) {
    const Rotation rotation{.heads = reference["heads"], .theta = reference["theta"]};
    const Shape shape{reference["examples"], reference["time"], reference["features"]};
    require_close(rotated(rotation, shape, reference["x"]),
                  reference["y"].get<std::vector<float>>(), 5e-7);
    require_close(rotated_back(rotation, shape, reference["upstream"], Write::overwrite),
                  reference["x_gradient"].get<std::vector<float>>(), 5e-7);
  }
}

TEST_CASE("positions and their gradients are PyTorch's", "[places][golden]") {
  const auto golden = load_golden("attention.json")["positions"];
  REQUIRE(golden.size() == 2);
  for (const auto& reference : golden) {
    const Shape shape{reference["examples"], reference["time"], reference["features"]};
    const Shape table_shape{reference["length"], reference["features"]};
    const std::vector<float> x = reference["x"];
    const std::vector<float> table = reference["table"];
    const std::vector<float> upstream = reference["upstream"];
    std::vector<float> y(x.size());
    add_places(tensor_of(x, shape), tensor_of(table, table_shape), tensor_of(y, shape));
    require_close(y, reference["y"].get<std::vector<float>>(), 5e-7);
    std::vector<float> gradient(table.size(), 99.0F);
    const auto expected = reference["table_gradient"].get<std::vector<float>>();
    add_places_gradient(tensor_of(upstream, shape), tensor_of(gradient, table_shape),
                        Write::overwrite);
    require_close(gradient, expected, 5e-7);
    add_places_gradient(tensor_of(upstream, shape), tensor_of(gradient, table_shape), Write::add);
    std::vector<float> twice = expected;
    for (float& value : twice) value *= 2;
    require_close(gradient, twice, 1e-6);
  }
}

}  // namespace trainyard::runtime

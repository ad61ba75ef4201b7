#include "runtime/math/ops/activation.h"

#include <limits>

#include "runtime/math/ops/cpu/vector_math.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

namespace {

constexpr std::array all_kinds{Nonlinearity::relu, Nonlinearity::sigmoid, Nonlinearity::tanh};

Nonlinearity kind_of(const std::string& name) {
  if (name == "relu") return Nonlinearity::relu;
  return name == "sigmoid" ? Nonlinearity::sigmoid : Nonlinearity::tanh;
}

// Distance in units of the last place of the true value.
double error_in_ulp(float got, double expected) {
  const auto rounded = std::fabs(static_cast<float>(expected));
  const double ulp = static_cast<double>(
      std::nextafter(rounded, std::numeric_limits<float>::infinity()) - rounded);
  return std::fabs(static_cast<double>(got) - expected) / ulp;
}

template <class Ours, class True>
double worst_error(float from, float to, Ours ours, True truth) {
  double worst = 0;
  constexpr int steps = 400'000;
  for (int i = 0; i <= steps; ++i) {
    const float x = from + (to - from) * (static_cast<float>(i) / steps);
    worst = std::max(worst, error_in_ulp(ours(x), truth(static_cast<double>(x))));
  }
  return worst;
}

double true_sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

TEST_CASE("exp, sigmoid and tanh are within two units of the last place", "[activation]") {
  const auto exp = [](double x) { return std::exp(x); };
  const auto tanh = [](double x) { return std::tanh(x); };
  CHECK(worst_error(-87.3F, 88.3F, exp_float, exp) <= 1.0);
  CHECK(worst_error(-1.0F, 1.0F, exp_float, exp) <= 1.0);
  CHECK(worst_error(-87.0F, 87.0F, sigmoid_float, true_sigmoid) <= 2.5);
  CHECK(worst_error(-4.0F, 4.0F, sigmoid_float, true_sigmoid) <= 2.5);
  CHECK(worst_error(-10.0F, 10.0F, tanh_float, tanh) <= 2.0);
  CHECK(worst_error(-0.7F, 0.7F, tanh_float, tanh) <= 2.0);
}

TEST_CASE("beyond their range the functions saturate, and NaN stays NaN", "[activation]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  REQUIRE(exp_float(-100.0F) == 0.0F);
  REQUIRE(exp_float(-infinity) == 0.0F);
  REQUIRE(exp_float(0.0F) == 1.0F);
  REQUIRE(sigmoid_float(200.0F) == 1.0F);
  REQUIRE(sigmoid_float(-infinity) < 1e-37F);
  REQUIRE(tanh_float(infinity) == 1.0F);
  REQUIRE(tanh_float(-50.0F) == -1.0F);
  for (const Nonlinearity kind : all_kinds) {
    std::vector<float> values{nan, 1.0F};
    activate(kind, tensor_of(values, {2}), tensor_of(values, {2}));
    REQUIRE(std::isnan(values[0]));
  }
}

TEST_CASE("activations and their gradients are PyTorch's", "[activation][golden]") {
  const auto golden = load_golden("ops.json");
  for (const auto& reference : golden["activations"]) {
    const Nonlinearity kind = kind_of(reference["name"]);
    const std::vector<float> x = reference["x"];
    const std::vector<float> upstream = reference["upstream"];
    const Shape shape{std::ssize(x)};
    std::vector<float> y(x.size());
    std::vector<float> gradient(x.size());

    activate(kind, tensor_of(x, shape), tensor_of(y, shape));
    activate_gradient(kind, tensor_of(y, shape), tensor_of(upstream, shape),
                      tensor_of(gradient, shape), Write::overwrite);

    require_close(y, reference["y"].get<std::vector<float>>(), 1e-6);
    require_close(gradient, reference["x_gradient"].get<std::vector<float>>(), 1e-6);
  }
}

TEST_CASE("a value's bits do not depend on its neighbours or its place in memory", "[activation]") {
  constexpr std::size_t count = 100;
  const std::vector<float> x = random_floats(count, 5);
  for (const Nonlinearity kind : all_kinds) {
    std::vector<float> whole(count);
    activate(kind, tensor_of(x, {count}), tensor_of(whole, {count}));
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<float> one{x[i]};
      activate(kind, tensor_of(one, {1}), tensor_of(one, {1}));
      require_same_bits(one, std::span(whole).subspan(i, 1));
    }
  }
}

TEST_CASE("gradients work in place, and add where asked to", "[activation]") {
  const std::vector<float> y{0.25F, 0.5F, 0.75F};
  const std::vector<float> upstream{1.0F, 2.0F, -4.0F};
  for (const Nonlinearity kind : all_kinds) {
    std::vector<float> apart(3);
    std::vector<float> in_place = upstream;
    std::vector<float> added{10.0F, 10.0F, 10.0F};
    activate_gradient(kind, tensor_of(y, {3}), tensor_of(upstream, {3}), tensor_of(apart, {3}),
                      Write::overwrite);
    activate_gradient(kind, tensor_of(y, {3}), tensor_of(in_place, {3}), tensor_of(in_place, {3}),
                      Write::overwrite);
    activate_gradient(kind, tensor_of(y, {3}), tensor_of(upstream, {3}), tensor_of(added, {3}),
                      Write::add);
    require_same_bits(in_place, apart);
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(added[i] == 10.0F + apart[i]);
  }
}

}  // namespace trainyard::runtime

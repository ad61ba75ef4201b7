#include "runtime/math/ops/activation.h"

#include <limits>

#include "runtime/math/ops/cpu/vector_log.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

namespace {

using enum Nonlinearity;

Activation activation_of(const NamedNonlinearity& of) {
  if (of.kind == leaky_relu) return {leaky_relu, 0.1F};
  if (of.kind == elu) return {elu, 1.5F};
  return of.kind;
}

Activation activation_of(const std::string& name) {
  const auto* const found = std::ranges::find(nonlinearities, name, &NamedNonlinearity::name);
  REQUIRE(found != std::end(nonlinearities));
  return activation_of(*found);
}

std::vector<float> values_for(const NamedNonlinearity& of, std::size_t count, std::uint64_t seed) {
  std::vector<float> values = random_floats(count, seed);
  if (of.domain == Domain::above_zero) {
    for (float& value : values) value = std::fabs(value) + 0.01F;
  }
  return values;
}

std::vector<float> activated(const Activation& activation, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  activate(activation, tensor_of(x, {std::ssize(x)}), tensor_of(y, {std::ssize(x)}));
  return y;
}

// Of x, by what is kept of it.
std::vector<float> gradient_at(const Activation& activation, const std::vector<float>& x,
                               const std::vector<float>& upstream) {
  const Shape shape{std::ssize(x)};
  const std::vector<float> y = activated(activation, x);
  std::vector<float> gradient(x.size());
  const auto& kept = gradient_reads(activation.kind) == Side::input ? x : y;
  activate_gradient(activation, tensor_of(kept, shape), tensor_of(upstream, shape),
                    tensor_of(gradient, shape), Write::overwrite);
  return gradient;
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
double true_normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

}  // namespace

TEST_CASE("exp, sigmoid and tanh are within two units of the last place", "[activation]") {
  const auto true_exp = [](double x) { return std::exp(x); };
  const auto true_tanh = [](double x) { return std::tanh(x); };
  CHECK(worst_error(-87.3F, 88.3F, exp_float, true_exp) <= 1.0);
  CHECK(worst_error(-1.0F, 1.0F, exp_float, true_exp) <= 1.0);
  CHECK(worst_error(-87.0F, 87.0F, sigmoid_float, true_sigmoid) <= 2.5);
  CHECK(worst_error(-4.0F, 4.0F, sigmoid_float, true_sigmoid) <= 2.5);
  CHECK(worst_error(-10.0F, 10.0F, tanh_float, true_tanh) <= 2.0);
  CHECK(worst_error(-0.7F, 0.7F, tanh_float, true_tanh) <= 2.0);
}

TEST_CASE("logarithms and exponentials less one keep the digits of small values", "[activation]") {
  const auto true_log = [](double x) { return std::log(x); };
  const auto true_log1p = [](double x) { return std::log1p(x); };
  const auto true_expm1 = [](double x) { return std::expm1(x); };
  CHECK(worst_error(1e-3F, 0.9F, log_float, true_log) <= 2.0);
  CHECK(worst_error(0.9F, 1.1F, log_float, true_log) <= 2.0);
  CHECK(worst_error(1.1F, 3e38F, log_float, true_log) <= 2.0);
  CHECK(worst_error(1e-44F, 1e-37F, log_float, true_log) <= 2.0);  // denormal ones, too
  CHECK(worst_error(-0.999F, 2.0F, log1p_float, true_log1p) <= 2.5);
  CHECK(worst_error(-1e-5F, 1e-5F, log1p_float, true_log1p) <= 2.5);
  CHECK(worst_error(2.0F, 3e38F, log1p_float, true_log1p) <= 2.5);
  CHECK(worst_error(-20.0F, 88.0F, expm1_float, true_expm1) <= 2.5);
  CHECK(worst_error(-1.0F, 1.0F, expm1_float, true_expm1) <= 2.5);
  CHECK(worst_error(-1e-5F, 1e-5F, expm1_float, true_expm1) <= 2.5);
}

TEST_CASE("the normal distribution keeps the digits of its tails", "[activation]") {
  const auto below = [](float x) { return normal_at(x).below; };
  CHECK(worst_error(-2.0F, 8.0F, below, true_normal) <= 10.0);
  CHECK(worst_error(-13.0F, -2.0F, below, true_normal) <= 80.0);  // x^2 is rounded: e^-84.5
  const auto density = [](float x) { return normal_at(x).density; };
  const auto true_density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); };
  CHECK(worst_error(-3.0F, 3.0F, density, true_density) <= 8.0);
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
  REQUIRE(expm1_float(-infinity) == -1.0F);
  REQUIRE(log_float(0.0F) == -infinity);
  REQUIRE(log_float(1.0F) == 0.0F);
  REQUIRE(log_float(infinity) == infinity);
  REQUIRE(std::isnan(log_float(-1e-30F)));
  REQUIRE(log1p_float(-1.0F) == -infinity);
  REQUIRE(log1p_float(infinity) == infinity);
  REQUIRE(std::isnan(log1p_float(-1.5F)));
  REQUIRE(normal_at(infinity).below == 1.0F);
  REQUIRE(normal_at(-infinity).below == 0.0F);
  REQUIRE(activated(softplus, {-200.0F, 200.0F}) == std::vector<float>{0.0F, 200.0F});
  for (const NamedNonlinearity& of : nonlinearities) {
    INFO(of.name);
    const Activation activation = activation_of(of);
    REQUIRE(std::isnan(activated(activation, {nan, 1.0F})[0]));
  }
}

TEST_CASE("activations and their gradients are PyTorch's", "[activation][golden]") {
  const auto check = [](const nlohmann::json& references, double tolerance) {
    for (const auto& reference : references) {
      const std::string name = reference["name"];
      INFO(name);
      const Activation activation = activation_of(name);
      const std::vector<float> x = reference["x"];
      require_close(activated(activation, x), reference["y"].get<std::vector<float>>(), tolerance);
      require_close(gradient_at(activation, x, reference["upstream"]),
                    reference["x_gradient"].get<std::vector<float>>(), tolerance);
    }
  };
  check(load_golden("ops.json")["activations"], 1e-6);
  const auto in_double = load_golden("elements.json")["activations"];
  REQUIRE(in_double.size() == std::size(nonlinearities));
  check(in_double, 1e-6);
}

TEST_CASE("activations' gradients are their differences", "[activation]") {
  for (const NamedNonlinearity& of : nonlinearities) {
    INFO(of.name);
    const Activation activation = activation_of(of);
    std::vector<float> x = values_for(of, 200, 7);
    // Away from kinks.
    for (float& value : x) value += value < 0 ? -0.05F : 0.05F;
    const std::vector<float> upstream(x.size(), 1.0F);
    const std::vector<float> gradient = gradient_at(activation, x, upstream);
    const std::vector<float> along(x.size(), 1.0F);
    constexpr double step = 1.0 / 512;
    const std::vector<float> above = activated(activation, moved(x, along, step));
    const std::vector<float> below = activated(activation, moved(x, along, -step));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double difference = (wide(above[i]) - wide(below[i])) / (2 * step);
      CHECK(wide(gradient[i]) == Approx(difference).epsilon(2e-3).margin(1e-3));
    }
  }
}

TEST_CASE("a value's bits do not depend on its neighbours or its place in memory", "[activation]") {
  constexpr std::size_t count = 100;
  for (const NamedNonlinearity& of : nonlinearities) {
    INFO(of.name);
    const Activation activation = activation_of(of);
    const std::vector<float> x = values_for(of, count, 5);
    const std::vector<float> upstream = random_floats(count, 6);
    const std::vector<float> whole = activated(activation, x);
    const std::vector<float> gradient = gradient_at(activation, x, upstream);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<float> one{x[i]};
      require_same_bits(gradient_at(activation, one, {upstream[i]}),
                        std::span(gradient).subspan(i, 1));
      activate(activation, tensor_of(one, {1}), tensor_of(one, {1}));
      require_same_bits(one, std::span(whole).subspan(i, 1));
    }
  }
}

TEST_CASE("gradients work in place, and add where asked to", "[activation]") {
  const std::vector<float> kept{0.25F, 0.5F, 0.75F};
  const std::vector<float> upstream{1.0F, 2.0F, -4.0F};
  for (const NamedNonlinearity& of : nonlinearities) {
    INFO(of.name);
    const Activation kind = activation_of(of);
    std::vector<float> apart(3);
    std::vector<float> in_place = upstream;
    std::vector<float> added{10.0F, 10.0F, 10.0F};
    activate_gradient(kind, tensor_of(kept, {3}), tensor_of(upstream, {3}), tensor_of(apart, {3}),
                      Write::overwrite);
    activate_gradient(kind, tensor_of(kept, {3}), tensor_of(in_place, {3}),
                      tensor_of(in_place, {3}), Write::overwrite);
    activate_gradient(kind, tensor_of(kept, {3}), tensor_of(upstream, {3}), tensor_of(added, {3}),
                      Write::add);
    require_same_bits(in_place, apart);
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(added[i] == 10.0F + apart[i]);
  }
}

}  // namespace trainyard::runtime

// The CPU's kernels, whose bytes all devices have, against what each op is by definition.
#include "tests/conformance/reference/reference.h"

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "tests/conformance/reference/tape.h"

using namespace trainyard::runtime;
using reference::Number;

namespace {

using Function = std::function<Number(const Number&, const Number&)>;

double value_at(const Function& function, double a, double b) {
  return function(Number(a), Number(b)).value;
}

}  // namespace

TEST_CASE("a tape's gradients are those of differences", "[reference]") {
  const std::vector<Function> functions{
      [](const Number& a, const Number& b) { return a + b * 3.0; },
      [](const Number& a, const Number& b) { return -(a - b) * a; },
      [](const Number& a, const Number& b) { return a / b + b / a; },
      [](const Number& a, const Number& b) { return exp(a) * tanh(b); },
      [](const Number& a, const Number& b) { return log(a) + log1p(b) * a; },
      [](const Number& a, const Number& b) { return sqrt(a * a + b * b); },
      [](const Number& a, const Number& b) { return erf(a) * sigmoid(b); },
      [](const Number& a, const Number& b) { return log_add(a, b * 2.0); },
      [](const Number& a, const Number& b) {
        reference::Sum sum;
        sum.add_product(a, b);
        sum.add_product(a, a);
        sum.add(b);
        return sum.number() * a;
      },
      [](const Number& a, const Number& b) {
        Number sum = a;
        for (int i = 0; i < 5; ++i) sum += sum * b;
        return sum;
      }};
  for (std::size_t i = 0; i < functions.size(); ++i) {
    INFO("function " << i);
    constexpr double a = 0.7;
    constexpr double b = 0.4;
    constexpr double step = 1e-6;
    const Function& function = functions[i];
    reference::Tape tape;
    const std::vector<Number> inputs{tape.variable(a), tape.variable(b)};
    const std::vector<Number> output{function(inputs[0], inputs[1])};
    const std::vector<double> weights{1.5};
    const std::vector<double> gradients = tape.gradients(output, weights);
    const double to_a =
        (value_at(function, a + step, b) - value_at(function, a - step, b)) / (2 * step);
    const double to_b =
        (value_at(function, a, b + step) - value_at(function, a, b - step)) / (2 * step);
    CHECK(gradients[0] == Approx(1.5 * to_a).epsilon(1e-8));
    CHECK(gradients[1] == Approx(1.5 * to_b).epsilon(1e-8));
  }
}

TEST_CASE("the CPU's kernels compute what each op is by definition", "[reference]") {
  const auto family = GENERATE(from_range(families()));
  DYNAMIC_SECTION(family.name) {
    Random random(23);
    for (const Case& each : family.cases(random, 5)) {
      if (!is_finite(each)) continue;
      INFO(each.name);
      CHECK(reference::too_far(each, results(each, cpu_kernels, nullptr), 3e-5) == "");
    }
  }
}

#include "runtime/math/ops/prelu.h"

#include <algorithm>
#include <limits>

#include "tests/golden/golden.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

struct PreluCase {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  std::vector<float> x;
  std::vector<float> slope;
  std::vector<float> upstream;

  [[nodiscard]] Shape shape() const { return {rows, channels}; }
};

PreluCase random_prelu(std::int64_t rows, std::int64_t channels) {
  const auto elements = static_cast<std::size_t>(rows * channels);
  return {rows, channels, random_floats(elements, 1),
          random_floats(static_cast<std::size_t>(channels), 2), random_floats(elements, 3)};
}

struct PreluResult {
  std::vector<float> y;
  std::vector<float> x_gradient;
  std::vector<float> slope_gradient;
};

PreluResult run_prelu(const PreluCase& of, const Threads& threads = {}) {
  PreluResult result{std::vector<float>(of.x.size()), std::vector<float>(of.x.size()),
                     std::vector<float>(of.slope.size())};
  prelu(tensor_of(of.x, of.shape()), tensor_of(of.slope, {of.channels}),
        tensor_of(result.y, of.shape()), threads);
  prelu_gradient({.x = tensor_of(of.x, of.shape()),
                  .slope = tensor_of(of.slope, {of.channels}),
                  .y_gradient = tensor_of(of.upstream, of.shape()),
                  .x_gradient = tensor_of(result.x_gradient, of.shape()),
                  .slope_gradient = tensor_of(result.slope_gradient, {of.channels}),
                  .threads = threads});
  return result;
}

PreluResult prelu_in_double(const PreluCase& of) {
  std::vector<double> y;
  std::vector<double> x_gradient;
  std::vector<double> slope_gradient(of.slope.size());
  for (std::size_t i = 0; i < of.x.size(); ++i) {
    const std::size_t channel = i % of.slope.size();
    const double slope = of.x[i] > 0 ? 1.0 : wide(of.slope[channel]);
    y.push_back(slope * wide(of.x[i]));
    x_gradient.push_back(slope * wide(of.upstream[i]));
    if (of.x[i] <= 0) slope_gradient[channel] += wide(of.x[i]) * wide(of.upstream[i]);
  }
  return {rounded(y), rounded(x_gradient), rounded(slope_gradient)};
}

void check_prelu(const PreluResult& got, const PreluResult& expected) {
  require_close(got.y, expected.y, 1e-6);
  require_close(got.x_gradient, expected.x_gradient, 1e-6);
  require_close(got.slope_gradient, expected.slope_gradient, 1e-5);
}

}  // namespace

TEST_CASE("learned slopes and their gradients are those of the definition, in every shape",
          "[prelu]") {
  for (const std::int64_t rows : {1, 3, 64, 65, 300}) {
    for (const std::int64_t channels : {1, 5, 16, 33, 128, 200}) {
      INFO(rows << " rows of " << channels << " channels");
      const PreluCase of = random_prelu(rows, channels);
      check_prelu(run_prelu(of), prelu_in_double(of));
    }
  }
}

TEST_CASE("learned slopes and their gradients are PyTorch's", "[prelu][golden]") {
  const nlohmann::json golden = load_golden("elements.json");
  for (const auto& reference : golden["prelu"]) {
    const PreluCase of{reference["rows"], reference["channels"], reference["x"], reference["slope"],
                       reference["upstream"]};
    check_prelu(run_prelu(of),
                {reference["y"], reference["x_gradient"], reference["slope_gradient"]});
  }
}

TEST_CASE("gradients of learned slopes are their differences", "[prelu]") {
  PreluCase base = random_prelu(70, 7);
  for (float& value : base.x) value += value < 0 ? -0.1F : 0.1F;  // away from the kink
  const PreluResult at = run_prelu(base);
  const auto check_along = [&](std::vector<float> PreluCase::*of,
                               const std::vector<float>& gradient) {
    constexpr double step = 1.0 / 256;
    auto along = random_floats((base.*of).size(), 9);
    for (float& value : along) value = std::clamp(value, -3.0F, 3.0F);
    PreluCase above = base;
    PreluCase below = base;
    above.*of = moved(base.*of, along, step);
    below.*of = moved(base.*of, along, -step);
    const double difference =
        dot(run_prelu(above).y, base.upstream) - dot(run_prelu(below).y, base.upstream);
    CHECK(difference / (2 * step) == Approx(dot(gradient, along)).epsilon(1e-3).margin(1e-3));
  };
  check_along(&PreluCase::x, at.x_gradient);
  check_along(&PreluCase::slope, at.slope_gradient);
}

TEST_CASE("learned slopes work in place, and add where asked to", "[prelu]") {
  const PreluCase of = random_prelu(70, 33);
  const PreluResult apart = run_prelu(of);
  const ConstTensor slope = tensor_of(of.slope, {33});
  std::vector<float> y = of.x;
  prelu(tensor_of(std::as_const(y), of.shape()), slope, tensor_of(y, of.shape()));
  require_same_bits(y, apart.y);
  std::vector<float> gradient = of.upstream;
  std::vector<float> slopes(of.slope.size(), 10.0F);
  prelu_gradient({.x = tensor_of(of.x, of.shape()),
                  .slope = slope,
                  .y_gradient = tensor_of(std::as_const(gradient), of.shape()),
                  .x_gradient = tensor_of(gradient, of.shape()),
                  .slope_gradient = tensor_of(slopes, {33}),
                  .slope_write = Write::add});
  require_same_bits(gradient, apart.x_gradient);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    CHECK(slopes[i] == 10.0F + apart.slope_gradient[i]);
  }
  std::vector<float> added(of.x.size(), 10.0F);
  prelu_gradient({.x = tensor_of(of.x, of.shape()),
                  .slope = slope,
                  .y_gradient = tensor_of(of.upstream, of.shape()),
                  .x_gradient = tensor_of(added, of.shape()),
                  .x_write = Write::add,
                  .slope_gradient = {}});  // frozen
  for (std::size_t i = 0; i < added.size(); ++i) CHECK(added[i] == 10.0F + apart.x_gradient[i]);
}

TEST_CASE("threads share the rows and the slopes' sums, and change no bit", "[prelu][threads]") {
  for (const std::int64_t channels : {5, 300}) {
    const PreluCase of = random_prelu(1000, channels);
    const PreluResult alone = run_prelu(of);
    for (const std::int64_t count : {2, 3, 7}) {
      INFO(channels << " channels, " << count << " threads");
      ThreadTeam team({.threads = count, .least_nanoseconds = 0});
      const PreluResult shared = run_prelu(of, team);
      require_same_bits(shared.y, alone.y);
      require_same_bits(shared.x_gradient, alone.x_gradient);
      require_same_bits(shared.slope_gradient, alone.slope_gradient);
    }
  }
}

TEST_CASE("zero is below the kink of a learned slope, and NaN stays NaN", "[prelu]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const PreluCase of{3, 1, {0.0F, -2.0F, nan}, {0.5F}, {4.0F, 1.0F, 1.0F}};
  const PreluResult got = run_prelu(of);
  CHECK(got.y[0] == 0.0F);
  CHECK(got.y[1] == -1.0F);
  CHECK(std::isnan(got.y[2]));
  CHECK(got.x_gradient == std::vector<float>{2.0F, 0.5F, 0.5F});
  CHECK(std::isnan(got.slope_gradient[0]));
}

}  // namespace trainyard::runtime

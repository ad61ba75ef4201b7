#include "runtime/math/ops/pool.h"

#include <limits>

#include "tests/golden/golden.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"
#include "tests/runtime/math/image_window.h"

namespace trainyard::runtime {
namespace {

// Padding is less than a window's reach, so that each window meets the image.
std::vector<Window> pool_windows() {
  const std::vector<WindowAxis> axes{
      {.pixels = 1},
      {.pixels = 6, .kernel = 2, .stride = 2},
      {.pixels = 7, .kernel = 3, .stride = 2, .before = 1, .after = 1},
      {.pixels = 5, .kernel = 4, .before = 3, .after = 2},
      {.pixels = 17, .kernel = 15, .before = 7, .after = 7},
      {.pixels = 9, .kernel = 2, .stride = 3},
      {.pixels = 10, .kernel = 3, .before = 1, .dilation = 2}};
  std::vector<Window> windows;
  for (const WindowAxis& height : axes) {
    for (const WindowAxis& width : axes) windows.push_back({height, width});
  }
  return windows;
}

struct PoolSizes {
  Window window;
  std::int64_t examples;
  std::int64_t channels;

  [[nodiscard]] Shape x() const {
    return {examples, window.height.pixels, window.width.pixels, channels};
  }
  [[nodiscard]] Shape y() const {
    return {examples, window.height.outputs(), window.width.outputs(), channels};
  }
};

std::vector<float> values_of(const Shape& shape, std::uint64_t seed) {
  return random_floats(static_cast<std::size_t>(shape.elements()), seed);
}

// Few values, so that many are equal.
std::vector<float> coarse_values_of(const Shape& shape, std::uint64_t seed) {
  std::vector<float> values = values_of(shape, seed);
  for (float& value : values) value = std::round(value);
  return values;
}

struct MaxPooled {
  std::vector<float> y;
  std::vector<std::uint8_t> winners;
};

MaxPooled run_max_pool(const PoolSizes& of, const std::vector<float>& x) {
  MaxPooled pooled{std::vector<float>(static_cast<std::size_t>(of.y().elements())), {}};
  pooled.winners.resize(pooled.y.size());
  max_pool2d(of.window, tensor_of(x, of.x()), tensor_of(pooled.y, of.y()), pooled.winners);
  return pooled;
}

// Calls visit(place in y, tap, place in x), channel by channel.
template <class Visit>
void for_each_pooled_value(const PoolSizes& of, Visit visit) {
  for_each_window_tap(of.window, of.examples,
                      [&](std::int64_t out, std::int64_t tap, std::int64_t pixel) {
                        for (std::int64_t i = 0; i < of.channels; ++i) {
                          visit(static_cast<std::size_t>(out * of.channels + i), tap,
                                static_cast<std::size_t>(pixel * of.channels + i));
                        }
                      });
}

void check_max_pool(const PoolSizes& of) {
  const std::vector<float> x = coarse_values_of(of.x(), 1);
  const std::vector<float> upstream = values_of(of.y(), 2);
  std::vector<float> y(upstream.size(), -std::numeric_limits<float>::infinity());
  std::vector<std::uint8_t> winners(upstream.size());
  std::vector<std::size_t> places(upstream.size());
  for_each_pooled_value(of, [&](std::size_t out, std::int64_t tap, std::size_t in) {
    if (x[in] <= y[out]) return;
    y[out] = x[in];
    winners[out] = static_cast<std::uint8_t>(tap);
    places[out] = in;
  });
  std::vector<float> x_gradient(x.size(), 0.0F);
  for (std::size_t i = 0; i < places.size(); ++i) x_gradient[places[i]] += upstream[i];

  const MaxPooled pooled = run_max_pool(of, x);
  require_same_bits(pooled.y, y);
  REQUIRE(pooled.winners == winners);
  std::vector<float> without(y.size());
  max_pool2d(of.window, tensor_of(x, of.x()), tensor_of(without, of.y()), {});
  require_same_bits(without, y);
  std::vector<float> got(x.size(), 7.0F);
  max_pool2d_gradient(of.window, winners, tensor_of(upstream, of.y()), tensor_of(got, of.x()),
                      Write::overwrite);
  require_same_bits(got, x_gradient);
}

void check_avg_pool(const PoolSizes& of) {
  const std::vector<float> x = values_of(of.x(), 1);
  const std::vector<float> upstream = values_of(of.y(), 2);
  std::vector<double> counts(upstream.size());
  std::vector<double> y(upstream.size());
  std::vector<double> x_gradient(x.size());
  for_each_pooled_value(of, [&](std::size_t out, std::int64_t, std::size_t) { ++counts[out]; });
  for_each_pooled_value(of, [&](std::size_t out, std::int64_t, std::size_t in) {
    y[out] += wide(x[in]) / counts[out];
    x_gradient[in] += wide(upstream[out]) / counts[out];
  });

  std::vector<float> got(y.size());
  avg_pool2d(of.window, tensor_of(x, of.x()), tensor_of(got, of.y()));
  require_close(got, rounded(y), 2e-6);
  std::vector<float> gradient(x.size(), 7.0F);
  avg_pool2d_gradient(of.window, tensor_of(upstream, of.y()), tensor_of(gradient, of.x()),
                      Write::overwrite);
  require_close(gradient, rounded(x_gradient), 2e-6);
}

const PoolSizes overlapping{{{.pixels = 9, .kernel = 3, .stride = 2, .before = 1, .after = 1},
                             {.pixels = 8, .kernel = 3, .stride = 1, .before = 1, .after = 1}},
                            3,
                            5};

// The slope of `forward` along a direction against that of its gradient.
template <class Forward>
void check_slope(const PoolSizes& of, Forward forward, const std::vector<float>& x_gradient) {
  const std::vector<float> x = values_of(of.x(), 1);
  const std::vector<float> upstream = values_of(of.y(), 2);
  const std::vector<float> along = values_of(of.x(), 3);
  constexpr double step = 1.0 / 4096;  // small enough to leave the winners
  const double above = dot(forward(moved(x, along, step)), upstream);
  const double below = dot(forward(moved(x, along, -step)), upstream);
  CHECK((above - below) / (2 * step) == Approx(dot(x_gradient, along)).epsilon(1e-2));
}

}  // namespace

TEST_CASE("max pooling keeps the first of the largest values, whatever the window", "[pool]") {
  std::int64_t channels = 1;
  for (const Window& window : pool_windows()) {
    INFO(text_of(window));
    check_max_pool({window, 2, channels});
    channels = channels % 130 + 13;
  }
}

TEST_CASE("average pooling is that of the definition, whatever the window", "[pool]") {
  std::int64_t channels = 1;
  for (const Window& window : pool_windows()) {
    INFO(text_of(window));
    check_avg_pool({window, 2, channels});
    channels = channels % 130 + 13;
  }
}

TEST_CASE("pools' gradients are their differences", "[pool]") {
  const std::vector<float> x = values_of(overlapping.x(), 1);
  const std::vector<float> upstream = values_of(overlapping.y(), 2);
  const auto max_pooled = [&](const std::vector<float>& of) {
    return run_max_pool(overlapping, of).y;
  };
  const auto averaged = [&](const std::vector<float>& of) {
    std::vector<float> y(upstream.size());
    avg_pool2d(overlapping.window, tensor_of(of, overlapping.x()), tensor_of(y, overlapping.y()));
    return y;
  };
  std::vector<float> gradient(x.size());
  max_pool2d_gradient(overlapping.window, run_max_pool(overlapping, x).winners,
                      tensor_of(upstream, overlapping.y()), tensor_of(gradient, overlapping.x()),
                      Write::overwrite);
  check_slope(overlapping, max_pooled, gradient);
  avg_pool2d_gradient(overlapping.window, tensor_of(upstream, overlapping.y()),
                      tensor_of(gradient, overlapping.x()), Write::overwrite);
  check_slope(overlapping, averaged, gradient);
}

TEST_CASE("pools and their gradients are PyTorch's", "[pool][golden]") {
  const auto golden = load_golden("images.json");
  for (const auto& reference : golden["pool"]) {
    const PoolSizes of{golden_window(reference), reference["examples"], reference["channels"]};
    INFO(reference["kind"] << " " << text_of(of.window));
    const std::vector<float> x = reference["x"];
    const std::vector<float> upstream = reference["upstream"];
    std::vector<float> y(upstream.size());
    std::vector<float> x_gradient(x.size());
    const ConstTensor given = tensor_of(upstream, of.y());
    if (reference["kind"] == "max") {
      const MaxPooled pooled = run_max_pool(of, x);
      y = pooled.y;
      max_pool2d_gradient(of.window, pooled.winners, given, tensor_of(x_gradient, of.x()),
                          Write::overwrite);
    } else {
      avg_pool2d(of.window, tensor_of(x, of.x()), tensor_of(y, of.y()));
      avg_pool2d_gradient(of.window, given, tensor_of(x_gradient, of.x()), Write::overwrite);
    }
    require_close(y, reference["y"].get<std::vector<float>>(), 1e-6);
    require_close(x_gradient, reference["x_gradient"].get<std::vector<float>>(), 1e-6);
  }
}

TEST_CASE("the mean of whole images is that of the definition, in every shape", "[pool]") {
  for (const Shape& shape : {Shape{3, 5}, Shape{2, 1, 7}, Shape{4, 65, 3}, Shape{2, 7, 13, 130},
                             Shape{1, 2, 3, 4, 5}, Shape{0, 3, 3, 2}}) {
    const std::int64_t channels = shape.columns();
    const std::int64_t examples = shape[0];
    const std::int64_t pixels = examples == 0 ? 1 : shape.rows() / examples;
    const std::vector<float> x = values_of(shape, 1);
    const std::vector<float> upstream = values_of({examples, channels}, 2);
    std::vector<double> y(upstream.size());
    std::vector<double> x_gradient(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const auto to = static_cast<std::size_t>(at / (pixels * channels) * channels + at % channels);
      y[to] += wide(x[i]) / static_cast<double>(pixels);
      x_gradient[i] = wide(upstream[to]) / static_cast<double>(pixels);
    }
    std::vector<float> got(y.size());
    std::vector<float> gradient(x.size(), 7.0F);
    global_avg_pool(tensor_of(x, shape), tensor_of(got, {examples, channels}));
    global_avg_pool_gradient(tensor_of(upstream, {examples, channels}), tensor_of(gradient, shape),
                             Write::overwrite);
    require_close(got, rounded(y), 1e-6);
    require_close(gradient, rounded(x_gradient), 1e-6);
  }
}

TEST_CASE("the mean of whole images is PyTorch's", "[pool][golden]") {
  const auto golden = load_golden("images.json");
  for (const auto& reference : golden["global_avg_pool"]) {
    const PoolSizes of{golden_window(reference), reference["examples"], reference["channels"]};
    const std::vector<float> x = reference["x"];
    const std::vector<float> upstream = reference["upstream"];
    const Shape pooled{of.examples, of.channels};
    std::vector<float> y(upstream.size());
    std::vector<float> x_gradient(x.size(), 7.0F);
    global_avg_pool(tensor_of(x, of.x()), tensor_of(y, pooled));
    global_avg_pool_gradient(tensor_of(upstream, pooled), tensor_of(x_gradient, of.x()),
                             Write::overwrite);
    require_close(y, reference["y"].get<std::vector<float>>(), 1e-6);
    require_close(x_gradient, reference["x_gradient"].get<std::vector<float>>(), 1e-6);
  }
}

TEST_CASE("pools' gradients add where asked to", "[pool]") {
  const std::vector<float> x = values_of(overlapping.x(), 1);
  const std::vector<float> upstream = values_of(overlapping.y(), 2);
  const std::vector<std::uint8_t> winners = run_max_pool(overlapping, x).winners;
  const ConstTensor given = tensor_of(upstream, overlapping.y());
  const auto check = [&](auto gradient) {
    std::vector<float> once(x.size(), 7.0F);
    std::vector<float> added(x.size(), 100.0F);
    gradient(tensor_of(once, overlapping.x()), Write::overwrite);
    gradient(tensor_of(added, overlapping.x()), Write::add);
    for (float& value : once) value += 100.0F;
    require_close(added, once, 1e-6);
  };
  check([&](Tensor into, Write write) {
    max_pool2d_gradient(overlapping.window, winners, given, into, write);
  });
  check([&](Tensor into, Write write) {
    avg_pool2d_gradient(overlapping.window, given, into, write);
  });
}

}  // namespace trainyard::runtime

#include "runtime/math/ops/norm.h"

#include <optional>

#include "runtime/math/ops/activation.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/norm_case.h"

namespace trainyard::runtime {
namespace {

ConstTensor given_or_none(const std::vector<float>& values) {
  if (values.empty()) return {};
  return tensor_of(values, {std::ssize(values)});
}

std::span<std::byte> bytes_of(AlignedBuffer& buffer) {
  return std::as_writable_bytes(buffer.span());
}

// Whether an op reads what it writes: x, or the gradient that flows in, lies where the result goes.
enum class Places { apart, shared };

void run_forward(const NormShape& shape, const NormValues& values, Normalized& into,
                 Places places = Places::apart) {
  if (places == Places::shared) into.y = values.x;
  const ConstTensor x =
      tensor_of(places == Places::shared ? std::as_const(into.y) : values.x, shape.x());
  const Scaling scaling{given_or_none(values.scale), given_or_none(values.offset)};
  const Tensor y = tensor_of(into.y, shape.x());
  const Tensor mean = tensor_of(into.mean, shape.sets());
  const Tensor spread = tensor_of(into.spread, shape.sets());
  AlignedBuffer scratch(group_norm_scratch_bytes(shape.channels) / sizeof(float));
  switch (shape.norm) {
    case Norm::batch:
      return batch_norm({.x = x, .scaling = scaling, .y = y, .mean = mean, .variance = spread});
    case Norm::layer:
      return layer_norm({.x = x, .scaling = scaling, .y = y, .mean = mean, .inverse = spread});
    case Norm::rms:
      return rms_norm({.x = x, .scaling = scaling, .y = y, .mean = {}, .inverse = spread});
    case Norm::group:
      return group_norm(shape.groups,
                        {.x = x, .scaling = scaling, .y = y, .mean = mean, .inverse = spread},
                        bytes_of(scratch));
  }
}

void run_backward(const NormShape& shape, const NormValues& values, Write write, Normalized& into,
                  Places places = Places::apart) {
  if (places == Places::shared) into.x_gradient = values.y_gradient;
  const ConstTensor y_gradient = tensor_of(
      places == Places::shared ? std::as_const(into.x_gradient) : values.y_gradient, shape.x());
  const bool has_offset = !values.offset.empty();
  const ScalingGradients scaling{
      .scale = tensor_of(into.scale_gradient, {shape.channels}),
      .offset = has_offset ? tensor_of(into.offset_gradient, {shape.channels}) : Tensor{},
      .write = write};
  const ConstTensor mean = tensor_of(std::as_const(into.mean), shape.sets());
  const ConstTensor spread = tensor_of(std::as_const(into.spread), shape.sets());
  if (shape.norm == Norm::batch) {
    return batch_norm_gradient({.x = tensor_of(values.x, shape.x()),
                                .scale = given_or_none(values.scale),
                                .mean = mean,
                                .variance = spread,
                                .y_gradient = y_gradient,
                                .x_gradient = tensor_of(into.x_gradient, shape.x()),
                                .write = write,
                                .scaling = scaling});
  }
  const RowNormGradient call{.x = tensor_of(values.x, shape.x()),
                             .scale = given_or_none(values.scale),
                             .mean = shape.norm == Norm::rms ? ConstTensor{} : mean,
                             .inverse = spread,
                             .y_gradient = y_gradient,
                             .x_gradient = tensor_of(into.x_gradient, shape.x()),
                             .write = write,
                             .scaling = scaling};
  AlignedBuffer scratch(group_norm_scratch_bytes(shape.channels) / sizeof(float));
  if (shape.norm == Norm::layer) return layer_norm_gradient(call);
  if (shape.norm == Norm::rms) return rms_norm_gradient(call);
  group_norm_gradient(shape.groups, call, bytes_of(scratch));
}

Normalized run_norm(const NormShape& shape, const NormValues& values) {
  const auto sets = static_cast<std::size_t>(shape.sets().elements());
  Normalized result{std::vector<float>(values.x.size()),
                    std::vector<float>(sets),
                    std::vector<float>(sets),
                    std::vector<float>(values.x.size()),
                    std::vector<float>(values.scale.size()),
                    std::vector<float>(values.scale.size())};
  run_forward(shape, values, result);
  run_backward(shape, values, Write::overwrite, result);
  return result;
}

std::vector<NormShape> all_norm_shapes() {
  std::vector<NormShape> shapes;
  for (const std::int64_t rows : {2, 3, 64, 65, 300}) {
    for (const std::int64_t channels : {1, 5, 16, 33, 128, 200}) {
      shapes.push_back({.norm = Norm::batch, .rows = rows, .channels = channels});
      if (channels < 5) continue;  // of few numbers a gradient is rounding alone
      shapes.push_back({.norm = Norm::layer, .rows = rows, .channels = channels});
      shapes.push_back({.norm = Norm::rms, .rows = rows, .channels = channels});
    }
  }
  for (const std::int64_t groups : {1, 4, 16}) {
    for (const std::int64_t channels : {16, 48, 160}) {
      for (const std::int64_t pixels : {6, 70, 129}) {
        shapes.push_back({Norm::group, 3, 3 * pixels, channels, groups});
      }
    }
  }
  return shapes;
}

void check_close(const NormShape& shape, const NormValues& values, const Normalized& got,
                 const Normalized& expected, double tolerance) {
  require_close(got.y, expected.y, tolerance);
  require_close(got.x_gradient, expected.x_gradient, tolerance);
  require_close(got.scale_gradient, expected.scale_gradient, tolerance);
  if (!values.offset.empty()) {
    require_close(got.offset_gradient, expected.offset_gradient, tolerance);
  }
  if (shape.norm != Norm::rms) require_close(got.mean, expected.mean, tolerance);
}

constexpr std::array<NormShape, 4> one_of_each{{{Norm::batch, 1, 12, 7, 1},
                                                {Norm::layer, 1, 5, 20, 1},
                                                {Norm::rms, 1, 5, 20, 1},
                                                {Norm::group, 2, 8, 12, 3}}};

// NOLINTNEXTLINE: a table of names
constexpr std::array<std::pair<Norm, const char*>, 4> norm_names{{{Norm::batch, "batch_norm"},
                                                                  {Norm::layer, "layer_norm"},
                                                                  {Norm::rms, "rms_norm"},
                                                                  {Norm::group, "group_norm"}}};

}  // namespace

TEST_CASE("norms and their gradients are those of the definition, in every shape", "[norm]") {
  for (const NormShape& shape : all_norm_shapes()) {
    INFO(shape.text());
    const NormValues values = norm_values(shape);
    const Normalized got = run_norm(shape, values);
    const Normalized expected = normalized_by_definition(shape, values);
    // Of few rows the variance may be small, and the gradient a small difference of large numbers.
    check_close(shape, values, got, expected, shape.rows <= 3 ? 2e-2 : 2e-5);
    require_close(got.spread, expected.spread, 1e-5);
  }
}

TEST_CASE("norms' gradients are their differences", "[norm]") {
  for (const NormShape& shape : one_of_each) {
    INFO(shape.text());
    const NormValues values = norm_values(shape);
    const Normalized base = run_norm(shape, values);
    const auto slope = [&](std::vector<float> NormValues::*of, const std::vector<float>& gradient) {
      constexpr double step = 1.0 / 256;
      const auto along = random_floats((values.*of).size(), 9);
      NormValues above = values;
      NormValues below = values;
      above.*of = moved(values.*of, along, step);
      below.*of = moved(values.*of, along, -step);
      const double difference = dot(run_norm(shape, above).y, values.y_gradient) -
                                dot(run_norm(shape, below).y, values.y_gradient);
      CHECK(difference / (2 * step) == Approx(dot(gradient, along)).epsilon(2e-3).margin(2e-3));
    };
    slope(&NormValues::x, base.x_gradient);
    slope(&NormValues::scale, base.scale_gradient);
    if (shape.norm != Norm::rms) slope(&NormValues::offset, base.offset_gradient);
  }
}

TEST_CASE("norms and their gradients are PyTorch's", "[norm][golden]") {
  const auto golden = load_golden("norms.json");
  for (const auto& [norm, name] : norm_names) {
    for (const auto& reference : golden[name]) {
      const NormShape shape{norm, reference.value("examples", 1), reference["rows"],
                            reference["channels"], reference.value("groups", 1)};
      INFO(shape.text());
      const auto list = [&](const char* key) { return reference.value(key, std::vector<float>{}); };
      const NormValues values{list("x"), list("scale"), list("offset"), list("upstream")};
      Normalized expected;
      expected.y = list("y");
      expected.x_gradient = list("x_gradient");
      expected.scale_gradient = list("scale_gradient");
      expected.offset_gradient = list("offset_gradient");
      const Normalized got = run_norm(shape, values);
      expected.mean = got.mean;
      check_close(shape, values, got, expected, 1e-5);
      if (norm != Norm::batch) continue;
      // Its running averages, by a momentum of 1, are what a batch adds for each example.
      const auto examples = reference["examples"].get<std::int64_t>();
      std::vector<float> mean(got.mean.size());
      std::vector<float> variance(got.mean.size());
      batch_norm_state({.examples = examples,
                        .rows = shape.rows,
                        .mean = tensor_of(got.mean, shape.sets()),
                        .variance = tensor_of(got.spread, shape.sets()),
                        .mean_sum = tensor_of(mean, shape.sets()),
                        .variance_sum = tensor_of(variance, shape.sets())});
      for (float& value : mean) value /= static_cast<float>(examples);
      for (float& value : variance) value /= static_cast<float>(examples);
      require_close(mean, list("mean"), 1e-5);
      require_close(variance, list("variance"), 1e-5);
    }
  }
}

TEST_CASE("evaluation normalises by a mean and a variance that are given", "[norm]") {
  const NormShape shape{.norm = Norm::batch, .rows = 70, .channels = 130};
  const NormValues values = norm_values(shape);
  const Normalized trained = run_norm(shape, values);
  std::vector<float> y = values.x;  // in place
  fixed_norm({.x = tensor_of(std::as_const(y), shape.x()),
              .scaling = {given_or_none(values.scale), given_or_none(values.offset)},
              .mean = tensor_of(trained.mean, shape.sets()),
              .variance = tensor_of(trained.spread, shape.sets()),
              .y = tensor_of(y, shape.x())});
  require_same_bits(y, trained.y);
}

TEST_CASE("a relu behind batch norm has the bits of one after it", "[norm]") {
  const NormShape shape{.norm = Norm::batch, .rows = 70, .channels = 130};
  const NormValues values = norm_values(shape);
  const Normalized plain = run_norm(shape, values);
  std::vector<float> after(plain.y.size());
  activate(Nonlinearity::relu, tensor_of(plain.y, shape.x()), tensor_of(after, shape.x()));
  Normalized within = plain;
  batch_norm({.x = tensor_of(values.x, shape.x()),
              .scaling = {given_or_none(values.scale), given_or_none(values.offset)},
              .finish = Finish::relu,
              .y = tensor_of(within.y, shape.x()),
              .mean = tensor_of(within.mean, shape.sets()),
              .variance = tensor_of(within.spread, shape.sets())});
  require_same_bits(within.y, after);
}

TEST_CASE("a norm without scale and offset has 1 and 0", "[norm]") {
  for (const NormShape& shape : one_of_each) {
    INFO(shape.text());
    NormValues ones = norm_values(shape);
    std::ranges::fill(ones.scale, 1.0F);
    std::ranges::fill(ones.offset, 0.0F);
    NormValues none = ones;
    none.offset.clear();
    none.scale.clear();
    Normalized got = run_norm(shape, ones);
    const Normalized expected = got;
    run_forward(shape, none, got);
    require_same_bits(got.y, expected.y);
  }
}

TEST_CASE("norms' gradients add where asked to", "[norm]") {
  for (const NormShape& shape : one_of_each) {
    INFO(shape.text());
    const NormValues values = norm_values(shape);
    Normalized got = run_norm(shape, values);
    Normalized expected = got;
    run_backward(shape, values, Write::add, got);
    for (auto gradient : {&Normalized::x_gradient, &Normalized::scale_gradient}) {
      for (float& value : expected.*gradient) value += value;
      require_same_bits(got.*gradient, expected.*gradient);
    }
  }
}

TEST_CASE("norms in place, and their gradients where what flows in lies, have the same bits",
          "[norm]") {
  for (const NormShape& shape : all_norm_shapes()) {
    INFO(shape.text());
    const NormValues values = norm_values(shape);
    const Normalized expected = run_norm(shape, values);
    Normalized got = expected;
    for (std::vector<float>* const written :
         {&got.y, &got.x_gradient, &got.scale_gradient, &got.offset_gradient}) {
      std::ranges::fill(*written, 99.0F);
    }
    run_forward(shape, values, got, Places::shared);
    run_backward(shape, values, Write::overwrite, got, Places::shared);
    require_same_bits(got.y, expected.y);
    require_same_bits(got.x_gradient, expected.x_gradient);
    require_same_bits(got.scale_gradient, expected.scale_gradient);
    if (!values.offset.empty()) require_same_bits(got.offset_gradient, expected.offset_gradient);
  }
}

}  // namespace trainyard::runtime

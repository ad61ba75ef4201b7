#include "runtime/model/model.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "runtime/core/counter_rng.h"
#include "runtime/model/final_part.h"
#include "tests/support/models.h"

namespace trainyard::runtime {

namespace {

DataShape digits_shape() { return {.example = {28, 28}, .features = 784, .classes = 10}; }
DataShape real_shape() { return {.example = {5}, .features = 5, .classes = 0}; }

using models::mlp;
using models::zoo;

Model build(const model::Written& spec, const DataShape& shape, std::int64_t batch_size) {
  auto model = Model::build(spec, shape, {batch_size});
  REQUIRE(model);
  return std::move(model).value();
}

std::string error_of(const model::Written& spec, const DataShape& shape,
                     std::int64_t batch_size = 1) {
  const auto model = Model::build(spec, shape, {batch_size});
  REQUIRE_FALSE(model);
  REQUIRE(model.error().code == Code::invalid);
  return model.error().message;
}

Batch random_batch(const DataShape& shape, std::int64_t examples) {
  const CounterRng rng(9, RngStream::synthetic);
  Batch batch{.examples = examples, .features = {}, .labels = {}, .targets = {}};
  for (std::int64_t i = 0; i < examples * shape.features; ++i) {
    batch.features.push_back(static_cast<float>(rng.uniform(static_cast<std::uint64_t>(i))));
  }
  for (std::int64_t i = 0; i < examples; ++i) {
    if (shape.classes > 0) batch.labels.push_back(static_cast<std::int32_t>(i % shape.classes));
    if (shape.classes == 0) batch.targets.push_back(static_cast<float>(i));
  }
  return batch;
}

Batch slice(const Batch& whole, std::int64_t begin, std::int64_t end) {
  const auto part = [&](const auto& values) {
    const std::int64_t each = std::ssize(values) / whole.examples;
    return std::decay_t<decltype(values)>(values.begin() + begin * each,
                                          values.begin() + end * each);
  };
  return {.examples = end - begin,
          .features = part(whole.features),
          .labels = part(whole.labels),
          .targets = part(whole.targets)};
}

struct Moments {
  double mean = 0;
  double deviation = 0;
  double largest = 0;
};

Moments moments(std::span<const float> values) {
  Moments m;
  double squares = 0;
  for (const float value : values) {
    m.mean += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
    m.largest = std::max(m.largest, std::fabs(static_cast<double>(value)));
  }
  m.mean /= static_cast<double>(values.size());
  m.deviation = std::sqrt(squares / static_cast<double>(values.size()) - m.mean * m.mean);
  return m;
}

// Of the first layer's kernel, 784 x 300.
Moments first_kernel(model::Value initializer) {
  model::Written spec = mlp({300});
  models::set_argument(spec, "weight_init", std::move(initializer));
  const Model model = build(spec, digits_shape(), 1);
  std::vector<float> parameters(static_cast<std::size_t>(model.arena_elements()));
  model.initialize(1, parameters);
  return moments(std::span(parameters).first(784 * 300));
}

}  // namespace

TEST_CASE("an mlp's variables have names, shapes and places from the input on", "[model]") {
  const Model model = build(mlp({100, 50}), digits_shape(), 1);
  const auto variables = model.variables();

  REQUIRE(variables.size() == 6);
  REQUIRE(variables[0].name == "dense_0/kernel");
  REQUIRE(variables[0].shape == std::vector<std::int64_t>{784, 100});
  REQUIRE(variables[1].name == "dense_0/bias");
  REQUIRE(variables[3].name == "dense_1/bias");
  REQUIRE(variables[5].name == "dense_2/bias");
  REQUIRE(variables[5].shape == std::vector<std::int64_t>{10});
  for (const Variable& variable : variables) REQUIRE(variable.offset % 16 == 0);
  REQUIRE(model.arena_elements() == 78400 + 112 + 5000 + 8 + 64 + 500 + 12 + 16);
}

TEST_CASE("regressions are one layer, with as many outputs as the data asks", "[model]") {
  const Model softmax = build(zoo("softmax_regression"), digits_shape(), 1);
  const Model linear = build(zoo("linear_regression"), real_shape(), 1);
  REQUIRE(softmax.variables()[0].shape == std::vector<std::int64_t>{784, 10});
  REQUIRE(linear.variables()[0].shape == std::vector<std::int64_t>{5, 1});
}

TEST_CASE("what does not fit is refused by the field's name", "[model]") {
  using Catch::Matchers::Contains;
  REQUIRE_THAT(error_of(zoo("gpt9"), digits_shape()), Contains("/model/name") && Contains("gpt9"));
  REQUIRE_THAT(error_of(zoo("softmax_regression"), real_shape()),
               Contains("needs classes for labels"));
  REQUIRE_THAT(error_of(zoo("linear_regression"), digits_shape()),
               Contains("needs numbers for labels"));
  REQUIRE_THAT(error_of(mlp({100, 0}), digits_shape()), Contains("/model/hidden/1"));
  REQUIRE_THAT(error_of(mlp({-3}), digits_shape()), Contains("got -3"));
  REQUIRE_THAT(error_of(mlp({std::int64_t{1} << 40}), digits_shape()), Contains("65536"));
  REQUIRE_THAT(error_of(mlp({4}), digits_shape(), 0), Contains("training.batch_size"));
  const auto deep_linear = zoo("softmax_regression", {{"hidden", models::widths({10})}});
  REQUIRE_THAT(error_of(deep_linear, digits_shape()), Contains("/model/hidden"));
}

TEST_CASE("weights start as their initializer says, and biases at zero", "[model]") {
  REQUIRE(first_kernel("normal").deviation == Approx(0.1).epsilon(0.01));
  REQUIRE(first_kernel("normal").mean == Approx(0.0).margin(0.001));
  REQUIRE(first_kernel("uniform").largest == Approx(0.1).epsilon(0.001));
  REQUIRE(first_kernel("uniform").largest <= 0.1000001);
  REQUIRE(first_kernel("xavier_uniform").largest ==
          Approx(std::sqrt(6.0 / (784 + 300))).epsilon(0.001));
  REQUIRE(first_kernel("he_normal").deviation == Approx(std::sqrt(2.0 / 784)).epsilon(0.01));
  REQUIRE(first_kernel("zeros").largest == 0.0);
}

TEST_CASE("weights are a function of the seed, differ between layers, and the padding is zero",
          "[model]") {
  const Model model = build(mlp({10, 10}), digits_shape(), 1);
  std::vector<float> first(static_cast<std::size_t>(model.arena_elements()), 5.0F);
  std::vector<float> again(first.size());
  std::vector<float> other(first.size());
  model.initialize(42, first);
  model.initialize(42, again);
  model.initialize(43, other);

  REQUIRE(first == again);
  REQUIRE(first != other);
  const auto variables = model.variables();
  REQUIRE(first[0] != first[static_cast<std::size_t>(variables[2].offset)]);
  const Variable& bias = variables[1];
  for (auto i = bias.offset; i < variables[2].offset; ++i)
    REQUIRE(first[static_cast<std::size_t>(i)] == 0.0F);
}

TEST_CASE("evaluate gives the loss that gradient gives", "[model]") {
  for (const DataShape& shape : {digits_shape(), real_shape()}) {
    Model model = build(mlp({7}), shape, 12);
    std::vector<float> parameters(static_cast<std::size_t>(model.arena_elements()));
    std::vector<float> gradients(parameters.size());
    model.initialize(3, parameters);
    const Batch batch = random_batch(shape, 12);
    const BatchResult result = model.gradient(parameters, batch, gradients);

    REQUIRE(result.examples == 12);
    REQUIRE(model.evaluate(parameters, batch).loss_sum == result.loss_sum);
    REQUIRE(model.evaluate(parameters, batch).metrics == result.metrics);
    if (shape.classes == 0) REQUIRE(model.metrics().empty());
  }
}

TEST_CASE("no variable is read before it is said to be, from the first layer to the last",
          "[model]") {
  for (const std::string name : {"mlp", "softmax_regression"}) {
    INFO(name);
    const model::Written spec = name == "mlp" ? mlp({9, 7}) : zoo(name);
    Model model = build(spec, digits_shape(), 5);
    const Batch batch = random_batch(digits_shape(), 5);
    const auto elements = static_cast<std::size_t>(model.arena_elements());
    std::vector<float> whole(elements);
    model.initialize(3, whole);
    std::vector<float> expected(elements);
    const BatchResult alone = model.gradient(whole, batch, expected);

    std::vector<float> parameters(elements, std::numeric_limits<float>::quiet_NaN());
    std::vector<float> gradient(elements);
    std::int64_t come = 0;
    const GradientCallbacks news{.on_need =
                                     [&](std::size_t variable) {
                                       const Variable& needed = model.variables()[variable];
                                       CHECK(needed.offset + needed.elements > come);
                                       come = needed.offset + needed.elements;
                                       std::copy_n(whole.begin(), come, parameters.begin());
                                     },
                                 .on_result = {},
                                 .on_final = {}};
    const BatchResult result = model.gradient(parameters, batch, gradient, news);
    CHECK(result.loss_sum == alone.loss_sum);
    CHECK(gradient == expected);
  }
}

TEST_CASE("a gradient that is said to be final is", "[model]") {
  Model model = build(mlp({9, 7}), digits_shape(), 5);
  const auto elements = static_cast<std::size_t>(model.arena_elements());
  std::vector<float> parameters(elements);
  model.initialize(3, parameters);
  std::vector<float> gradient(elements, -1e30F);
  std::vector<float> told(elements);
  const GradientCallbacks news{.on_need = {}, .on_result = {}, .on_final = [&](std::size_t i) {
                                 const Variable& variable = model.variables()[i];
                                 std::copy_n(gradient.begin() + variable.offset, variable.elements,
                                             told.begin() + variable.offset);
                               }};
  model.gradient(parameters, random_batch(digits_shape(), 5), gradient, news);
  CHECK(told == gradient);
}

TEST_CASE("of a large gradient the end is said to be final before the rest, and is", "[model]") {
  Model model = build(mlp({700}), digits_shape(), 5);
  const auto elements = static_cast<std::size_t>(model.arena_elements());
  std::vector<float> parameters(elements);
  model.initialize(3, parameters);
  std::vector<float> gradient(elements, -1e30F);
  std::vector<float> told(elements);
  FinalPart part(model.variables());
  std::vector<std::int64_t> ends{model.arena_elements()};
  const auto take = [&](std::int64_t from) {
    CHECK(from <= ends.back());
    std::copy(gradient.begin() + from, gradient.begin() + ends.back(), told.begin() + from);
    ends.push_back(from);
  };
  const GradientCallbacks news{
      .on_need = {},
      .on_result = {},
      .on_final = [&](std::size_t i) { take(part.add(i)); },
      .on_final_from = [&](std::size_t i, std::int64_t from) { take(part.add_part(i, from)); },
      .parameters_stay = true};
  model.gradient(parameters, random_batch(digits_shape(), 5), gradient, news);
  CHECK(told == gradient);
  // The kernel of 784 x 700 comes in three parts, its last rows first.
  CHECK(std::ranges::count(ends, 412 * 700) > 0);
  CHECK(std::ranges::count(ends, 40 * 700) > 0);
  CHECK(ends.back() == 0);
}

TEST_CASE("losses and gradients of two unequal parts of a batch add up to the whole's", "[model]") {
  for (const DataShape& shape : {digits_shape(), real_shape()}) {
    Model model = build(mlp({7}), shape, 12);
    std::vector<float> parameters(static_cast<std::size_t>(model.arena_elements()));
    std::vector<float> expected(parameters.size());
    std::vector<float> first(parameters.size());
    std::vector<float> second(parameters.size());
    model.initialize(3, parameters);
    const Batch whole = random_batch(shape, 12);

    const double loss_sum = model.gradient(parameters, whole, expected).loss_sum;
    const double first_sum = model.gradient(parameters, slice(whole, 0, 5), first).loss_sum;
    const double second_sum = model.gradient(parameters, slice(whole, 5, 12), second).loss_sum;

    REQUIRE(first_sum + second_sum == Approx(loss_sum).epsilon(1e-6));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(first[i] + second[i] == Approx(expected[i]).epsilon(1e-4).margin(1e-4));
    }
  }
}

TEST_CASE("two models of one spec compute the same bits", "[model]") {
  const Batch batch = random_batch(digits_shape(), 30);
  std::vector<std::vector<float>> results;
  for (int i = 0; i < 2; ++i) {
    Model model = build(mlp({33, 17}), digits_shape(), i == 0 ? 30 : 64);
    std::vector<float> parameters(static_cast<std::size_t>(model.arena_elements()));
    std::vector<float> gradients(parameters.size(), 3.0F);
    model.initialize(3, parameters);
    model.gradient(parameters, batch, gradients);
    results.push_back(std::move(gradients));
  }
  REQUIRE(std::ranges::equal(
      results[0], results[1], {}, [](float x) { return std::bit_cast<int>(x); },
      [](float x) { return std::bit_cast<int>(x); }));
}

}  // namespace trainyard::runtime

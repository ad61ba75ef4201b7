// Recurrent networks against PyTorch, against a plain loop in double, and with themselves: other
// batches and more padding change no bit.
#include "runtime/math/ops/recurrence.h"

#include <algorithm>

#include "runtime/math/aligned_buffer.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime::recurrence_tests {
namespace {

using Lengths = std::vector<std::int32_t>;
using Output = Recurrence::Output;

struct Parameters {
  std::vector<float> kernel;
  std::vector<float> recurrent_kernel;
  std::vector<float> bias;
  std::vector<float> recurrent_bias;
};

struct Case {
  Recurrence kind;
  RecurrentSizes sizes;
  Parameters parameters;
  std::vector<float> x;
  Lengths lengths;

  [[nodiscard]] std::int64_t gates() const { return gates_of(kind.cell) * sizes.units; }
  [[nodiscard]] Shape output() const {
    if (kind.output == Output::all) return {sizes.examples, sizes.time, sizes.units};
    return {sizes.examples, sizes.units};
  }
  [[nodiscard]] RecurrentParameters views() const {
    const bool is_gru = kind.cell == RecurrentCell::gru;
    return {.kernel = tensor_of(parameters.kernel, {sizes.in, gates()}),
            .recurrent_kernel = tensor_of(parameters.recurrent_kernel, {sizes.units, gates()}),
            .bias = tensor_of(parameters.bias, {gates()}),
            .recurrent_bias =
                is_gru ? tensor_of(parameters.recurrent_bias, {sizes.units}) : ConstTensor{}};
  }
};

struct Gradients {
  std::vector<float> x;
  Parameters parameters;
};

// Memory that was used for something else before.
struct Memory {
  explicit Memory(std::size_t bytes) : floats(bytes / sizeof(float)) {
    std::ranges::fill(floats.span(), std::numeric_limits<float>::quiet_NaN());
  }
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(floats.span()); }
  AlignedBuffer floats;
};

struct Run {
  explicit Run(const Case& of)
      : test(of),
        saved(recurrence_saved_bytes(of.kind.cell, of.sizes)),
        scratch(recurrence_scratch_bytes(of.kind.cell, of.sizes)) {}

  std::vector<float> forward() {
    std::vector<float> y(static_cast<std::size_t>(test.output().elements()));
    recurrence({.kind = test.kind,
                .x = tensor_of(test.x, x_shape()),
                .parameters = test.views(),
                .lengths = test.lengths,
                .saved = saved.bytes(),
                .scratch = scratch.bytes(),
                .output = tensor_of(y, test.output())});
    return y;
  }

  Gradients backward(const std::vector<float>& upstream, Write write = Write::overwrite,
                     float before = 7) {
    const RecurrentParameters shapes = test.views();
    Gradients to{.x = std::vector<float>(test.x.size(), before), .parameters = test.parameters};
    const auto into = [&](std::vector<float>& values, ConstTensor like) {
      std::ranges::fill(values, before);
      return like.data == nullptr ? RecurrentGradient{}
                                  : RecurrentGradient{tensor_of(values, like.shape), write};
    };
    Memory used(scratch.floats.size() * sizeof(float));
    recurrence_gradient(
        {.kind = test.kind,
         .x = tensor_of(test.x, x_shape()),
         .parameters = shapes,
         .lengths = test.lengths,
         .saved = saved.bytes(),
         .scratch = used.bytes(),
         .output_gradient = tensor_of(upstream, test.output()),
         .x_gradient = {tensor_of(to.x, x_shape()), write},
         .kernel_gradient = into(to.parameters.kernel, shapes.kernel),
         .recurrent_kernel_gradient = into(to.parameters.recurrent_kernel, shapes.recurrent_kernel),
         .bias_gradient = into(to.parameters.bias, shapes.bias),
         .recurrent_bias_gradient = into(to.parameters.recurrent_bias, shapes.recurrent_bias)});
    return to;
  }

  [[nodiscard]] Shape x_shape() const {
    return {test.sizes.examples, test.sizes.time, test.sizes.in};
  }

  const Case& test;
  Memory saved;
  Memory scratch;
};

constexpr std::array cells{RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::rnn_tanh,
                           RecurrentCell::rnn_relu};

std::vector<float> scaled(std::int64_t count, std::uint64_t seed, double scale) {
  std::vector<float> values = random_floats(static_cast<std::size_t>(count), seed);
  for (float& value : values) value *= static_cast<float>(scale);
  return values;
}

Case random_case(const Recurrence& kind, const RecurrentSizes& sizes, Lengths lengths) {
  const std::int64_t gates = gates_of(kind.cell) * sizes.units;
  const auto fan = [](std::int64_t in) { return 1 / std::sqrt(static_cast<double>(in)); };
  return {.kind = kind,
          .sizes = sizes,
          .parameters = {.kernel = scaled(sizes.in * gates, 1, fan(sizes.in)),
                         .recurrent_kernel = scaled(sizes.units * gates, 2, fan(sizes.units)),
                         .bias = scaled(gates, 3, 0.3),
                         .recurrent_bias = scaled(sizes.units, 4, 0.3)},
          .x = scaled(sizes.examples * sizes.time * sizes.in, 5, 1),
          .lengths = std::move(lengths)};
}

Case case_of(const nlohmann::json& reference) {
  const std::string cell = reference["cell"];
  const RecurrentCell kind = cell == "lstm"       ? RecurrentCell::lstm
                             : cell == "gru"      ? RecurrentCell::gru
                             : cell == "rnn_tanh" ? RecurrentCell::rnn_tanh
                                                  : RecurrentCell::rnn_relu;
  return {
      .kind = {.cell = kind,
               .order = reference["order"] == "forward" ? TimeOrder::forward : TimeOrder::backward,
               .output = reference["output"] == "all" ? Output::all : Output::last},
      .sizes = {.examples = 3, .time = 5, .in = 4, .units = 3},
      .parameters = {.kernel = reference["kernel"],
                     .recurrent_kernel = reference["recurrent_kernel"],
                     .bias = reference["bias"],
                     .recurrent_bias = reference.value("recurrent_bias", std::vector<float>{})},
      .x = reference["x"],
      .lengths = reference["lengths"]};
}

// The definition, in double, for one example.
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class Plain {
 public:
  Plain(const Case& of, std::int64_t example) : of_(of), example_(example) {}

  // [time, units]
  std::vector<double> run() {
    const std::int64_t units = of_.sizes.units;
    const std::int64_t length = of_.lengths[static_cast<std::size_t>(example_)];
    std::vector<double> states(static_cast<std::size_t>(of_.sizes.time * units));
    std::vector<double> h(static_cast<std::size_t>(units));
    std::vector<double> c(static_cast<std::size_t>(units));
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t t = of_.kind.order == TimeOrder::forward ? i : length - 1 - i;
      const std::vector<double> before = h;
      for (std::int64_t j = 0; j < units; ++j) {
        h[static_cast<std::size_t>(j)] = next(t, j, before, c[static_cast<std::size_t>(j)]);
      }
      std::ranges::copy(h, states.begin() + t * units);
    }
    return states;
  }

 private:
  double next(std::int64_t t, std::int64_t j, const std::vector<double>& h, double& c) const {
    const auto sum = [&](std::int64_t gate) { return input(t, gate, j) + state(gate, j, h); };
    switch (of_.kind.cell) {
      case RecurrentCell::lstm:
        c = sigmoid(sum(1)) * c + sigmoid(sum(0)) * std::tanh(sum(2));
        return sigmoid(sum(3)) * std::tanh(c);
      case RecurrentCell::gru: {
        const double z = sigmoid(sum(1));
        const auto unit = static_cast<std::size_t>(j);
        const double from_state = state(2, j, h) + wide(of_.parameters.recurrent_bias[unit]);
        const double n = std::tanh(input(t, 2, j) + sigmoid(sum(0)) * from_state);
        return (1 - z) * n + z * h[unit];
      }
      case RecurrentCell::rnn_tanh: return std::tanh(sum(0));
      case RecurrentCell::rnn_relu: return std::max(0.0, sum(0));
    }
    return 0;
  }
  [[nodiscard]] double input(std::int64_t t, std::int64_t gate, std::int64_t j) const {
    const std::int64_t column = gate * of_.sizes.units + j;
    double sum = wide(of_.parameters.bias[static_cast<std::size_t>(column)]);
    for (std::int64_t i = 0; i < of_.sizes.in; ++i) {
      const std::int64_t place = (example_ * of_.sizes.time + t) * of_.sizes.in + i;
      sum += wide(of_.x[static_cast<std::size_t>(place)]) *
             wide(of_.parameters.kernel[static_cast<std::size_t>(i * of_.gates() + column)]);
    }
    return sum;
  }
  [[nodiscard]] double state(std::int64_t gate, std::int64_t j,
                             const std::vector<double>& h) const {
    double sum = 0;
    for (std::int64_t i = 0; i < of_.sizes.units; ++i) {
      const std::int64_t place = i * of_.gates() + gate * of_.sizes.units + j;
      sum += h[static_cast<std::size_t>(i)] *
             wide(of_.parameters.recurrent_kernel[static_cast<std::size_t>(place)]);
    }
    return sum;
  }

  const Case& of_;
  std::int64_t example_;
};

// One example of the case alone, cut or padded to so much time.
Case alone(const Case& whole, std::int64_t example, std::int64_t time) {
  Case one = whole;
  one.sizes.examples = 1;
  one.sizes.time = time;
  one.lengths = {whole.lengths[static_cast<std::size_t>(example)]};
  const std::int64_t each = whole.sizes.time * whole.sizes.in;
  one.x.assign(whole.x.begin() + example * each, whole.x.begin() + (example + 1) * each);
  one.x.resize(static_cast<std::size_t>(time * whole.sizes.in), 3.0F);
  return one;
}

}  // namespace

TEST_CASE("recurrent networks and their gradients are PyTorch's, in both directions, with lengths",
          "[recurrence][golden]") {
  const auto golden = load_golden("sequences.json")["recurrences"];
  for (const auto& reference : golden) {
    INFO(reference["cell"] << " " << reference["order"] << " " << reference["output"]);
    const Case test = case_of(reference);
    Run run(test);
    require_close(run.forward(), reference["y"].get<std::vector<float>>(), 1e-6);
    const Gradients got = run.backward(reference["upstream"]);
    const auto expected = [&](const char* name) {
      return reference.value(std::string(name) + "_gradient", std::vector<float>{});
    };
    require_close(got.x, expected("x"), 2e-6);
    require_close(got.parameters.kernel, expected("kernel"), 2e-6);
    require_close(got.parameters.recurrent_kernel, expected("recurrent_kernel"), 2e-6);
    require_close(got.parameters.bias, expected("bias"), 2e-6);
    require_close(got.parameters.recurrent_bias, expected("recurrent_bias"), 2e-6);

    const Gradients more = run.backward(reference["upstream"], Write::add, 0.5F);
    for (std::size_t i = 0; i < got.x.size(); ++i) {
      REQUIRE(more.x[i] == Approx(got.x[i] + 0.5F).margin(1e-6));
    }
    for (std::size_t i = 0; i < got.parameters.recurrent_bias.size(); ++i) {
      REQUIRE(more.parameters.recurrent_bias[i] ==
              Approx(got.parameters.recurrent_bias[i] + 0.5F).margin(1e-6));
    }
  }
}

TEST_CASE("recurrent networks are the plain loop's in double, whatever the sizes", "[recurrence]") {
  const std::array sizes{RecurrentSizes{.examples = 2, .time = 1, .in = 3, .units = 5},
                         RecurrentSizes{.examples = 5, .time = 7, .in = 1, .units = 1},
                         RecurrentSizes{.examples = 3, .time = 6, .in = 350, .units = 130}};
  for (const RecurrentCell cell : cells) {
    for (const RecurrentSizes& size : sizes) {
      for (const TimeOrder order : {TimeOrder::forward, TimeOrder::backward}) {
        Lengths lengths;
        for (std::int64_t i = 0; i < size.examples; ++i) {
          lengths.push_back(static_cast<std::int32_t>((2 * i + 1) % (size.time + 1)));
        }
        const Case test =
            random_case({.cell = cell, .order = order, .output = Output::all}, size, lengths);
        const std::vector<float> y = Run(test).forward();
        std::vector<float> expected;
        for (std::int64_t example = 0; example < size.examples; ++example) {
          const std::vector<float> states = rounded(Plain(test, example).run());
          expected.insert(expected.end(), states.begin(), states.end());
        }
        require_close(y, expected, 3e-6);
      }
    }
  }
}

TEST_CASE("an example's states and gradients do not depend on other examples and on padding",
          "[recurrence]") {
  const RecurrentSizes sizes{.examples = 5, .time = 9, .in = 33, .units = 20};
  const Lengths lengths{9, 4, 0, 7, 1};
  for (const RecurrentCell cell : cells) {
    for (const TimeOrder order : {TimeOrder::forward, TimeOrder::backward}) {
      for (const Output output : {Output::all, Output::last}) {
        const Case whole =
            random_case({.cell = cell, .order = order, .output = output}, sizes, lengths);
        Run run(whole);
        const std::vector<float> y = run.forward();
        const std::vector<float> upstream = random_floats(y.size(), 9);
        const Gradients gradients = run.backward(upstream);
        const std::int64_t each = std::ssize(y) / sizes.examples;
        const std::int64_t each_x = sizes.time * sizes.in;
        for (std::int64_t i = 0; i < sizes.examples; ++i) {
          const std::int64_t length = lengths[static_cast<std::size_t>(i)];
          for (const std::int64_t time : {std::max<std::int64_t>(1, length), sizes.time + 2}) {
            const Case one = alone(whole, i, time);
            Run run_one(one);
            std::vector<float> mine = run_one.forward();
            std::vector<float> to_mine(upstream.begin() + i * each,
                                       upstream.begin() + (i + 1) * each);
            to_mine.resize(mine.size(), 5.0F);
            std::vector<float> mine_x = run_one.backward(to_mine).x;
            std::vector<float> theirs(y.begin() + i * each, y.begin() + (i + 1) * each);
            mine.resize(theirs.size());
            mine_x.resize(static_cast<std::size_t>(each_x));
            require_same_bits(mine, theirs);
            require_same_bits(mine_x, std::span(gradients.x)
                                          .subspan(static_cast<std::size_t>(i * each_x),
                                                   static_cast<std::size_t>(each_x)));
          }
        }
      }
    }
  }
}

TEST_CASE("without lengths all examples are full", "[recurrence]") {
  const RecurrentSizes sizes{.examples = 3, .time = 4, .in = 2, .units = 3};
  Case test =
      random_case({.cell = RecurrentCell::gru, .order = TimeOrder::backward}, sizes, {4, 4, 4});
  const std::vector<float> y = Run(test).forward();
  test.lengths.clear();
  require_same_bits(Run(test).forward(), y);
}

}  // namespace trainyard::runtime::recurrence_tests

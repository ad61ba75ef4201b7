#include "tests/conformance/reference/reference.h"

#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "schemas/base/check.h"
#include "tests/conformance/reference/ops.h"

namespace trainyard::runtime::reference {
namespace {

template <class Source>
requires(std::is_same_v<Source, FeaturesOp> || std::is_same_v<Source, SparseFeaturesOp> ||
         std::is_same_v<Source, IdsOp> || std::is_same_v<Source, VariableOp>) Numbers
    defined(const Source&, const Call&) {
  ENSURE(false);  // nothing is computed: no case is of one
}

Numbers numbers(Tape& tape, const std::vector<float>& values) {
  Numbers made;
  made.reserve(values.size());
  for (const float value : values) made.push_back(tape.variable(static_cast<double>(value)));
  return made;
}

std::vector<double> values_of(const Numbers& numbers) {
  std::vector<double> values;
  for (const Number& number : numbers) values.push_back(number.value);
  return values;
}

std::vector<double> at_places(const std::vector<double>& of, const Numbers& numbers) {
  std::vector<double> values;
  for (const Number& number : numbers) values.push_back(of[static_cast<std::size_t>(number.place)]);
  return values;
}

// What a case should give.
struct Expected {
  std::vector<double> evaluated;
  std::vector<double> output;
  std::vector<std::vector<double>> inputs;  // gradients
  std::vector<double> rows;                 // the same
};

Expected expected_of(const Case& of, const std::vector<float>& upstream) {
  Tape tape;
  std::vector<Array> inputs;
  for (const Input& input : of.inputs) inputs.push_back({input.shape, numbers(tape, input.values)});
  const Numbers rows = numbers(tape, of.feed.rows);
  const auto run = [&](Pass pass) {
    const Call call{inputs, of.output, of.feed, rows, pass};
    return std::visit([&call](const auto& op) { return defined(op, call); }, of.op);
  };
  Expected expected{
      .evaluated = values_of(run(Pass::evaluate)), .output = {}, .inputs = {}, .rows = {}};
  const Numbers output = run(Pass::train);
  expected.output = values_of(output);
  if (upstream.empty()) return expected;
  const std::vector<double> weights(upstream.begin(), upstream.end());
  const std::vector<double> gradients = tape.gradients(output, weights);
  for (const Array& input : inputs) expected.inputs.push_back(at_places(gradients, input.values));
  expected.rows = at_places(gradients, rows);
  for (double& gradient : expected.rows) gradient *= 2;  // both passes back add to them
  if (std::holds_alternative<BatchNormOp>(of.op)) {
    StateSums sums = state_sums({inputs, of.output, of.feed, rows, Pass::train});
    expected.inputs[inputs.size() - 2] = std::move(sums.mean);
    expected.inputs[inputs.size() - 1] = std::move(sums.variance);
  }
  return expected;
}

double square(double x) { return x * x; }

std::string compared(const Result& found, const std::vector<double>& expected, double limit) {
  // A gradient that should be zero has the rounding of what cancels in it.
  constexpr double least = 0.1;
  ENSURE(found.values.size() == expected.size());
  double error = 0;
  double norm = 0;
  std::size_t worst = 0;
  double worst_error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto have = static_cast<double>(found.values[i]);
    const double start = found.start.empty() ? 0 : static_cast<double>(found.start[i]);
    const double want = start + expected[i];
    if (std::isfinite(want)) norm += square(expected[i]) + square(start / 4) + square(least);
    if (have == want || (std::isnan(have) && std::isnan(want))) continue;
    const double off = std::isfinite(have) && std::isfinite(want) ? have - want : HUGE_VAL;
    error += square(off);
    if (std::abs(off) > worst_error) worst = i;
    worst_error = std::max(worst_error, std::abs(off));
  }
  if (!(std::sqrt(error) > limit * std::sqrt(norm))) return "";
  const double start = found.start.empty() ? 0 : static_cast<double>(found.start[worst]);
  char text[200];
  std::snprintf(text, sizeof text,
                "%s: %.3g of the norm is wrong; element %zu of %zu is %.9g, not %.9g",
                found.name.c_str(), std::sqrt(error / norm), worst, expected.size(),
                static_cast<double>(found.values[worst]), start + expected[worst]);
  return text;
}

// Which of the gradients a result is of, by its place among them.
std::optional<std::size_t> input_of(const Result& result, std::size_t place, std::size_t inputs) {
  if (result.name == "gradient of rows") return std::nullopt;
  return place % inputs;
}

}  // namespace

std::string too_far(const Case& of, const Results& of_kernels, double limit) {
  const Expected expected = expected_of(of, of_kernels.upstream);
  for (std::size_t i = 0; i < of_kernels.values.size(); ++i) {
    const Result& result = of_kernels.values[i];
    const std::vector<double>* want = &expected.evaluated;
    if (i == 1) want = &expected.output;
    if (i >= 2) {
      const auto input = input_of(result, i - 2, of.inputs.size());
      want = input ? &expected.inputs[*input] : &expected.rows;
      if (result.values.empty()) continue;  // not asked for
    }
    const std::string text = compared(result, *want, limit);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace trainyard::runtime::reference

// Attention whose scores are never in memory, run by a loop: held against what it is by definition,
// with inputs that both precisions have exactly, so that the softmax may decide.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/graph/grid/attention.h"
#include "runtime/graph/grid/attention_depth.h"
#include "runtime/math/wire/bfloat16.h"
#include "schemas/types/precision_names.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/conformance/mirror/host_grid.h"
#include "tests/conformance/reference/reference.h"
#include "tests/environment.h"

using namespace trainyard;
using namespace trainyard::runtime;

namespace {

const std::vector<Precision> fused_precisions{Precision::tf32, Precision::bfloat16};

std::string precision_name(Precision precision) {
  return std::string(find_name(precision_names, precision));
}

// What is rounded on the way are weights, their gradients, and the gradient of the output.
double fused_limit(Precision precision) { return precision == Precision::tf32 ? 1e-3 : 8e-3; }

struct FusedSizes {
  std::int64_t examples, queries, keys, depth;
};

// Of two heads; its numbers are those of bfloat16.
Case fused_case(const FusedSizes& sizes, const SdpaOp& op,
                const std::vector<std::int32_t>& lengths = {}) {
  Random random(17);
  const std::int64_t features = op.heads * sizes.depth;
  std::vector<Input> inputs{example_input(random, sizes.examples, {sizes.queries, features}, -2, 2),
                            example_input(random, sizes.examples, {sizes.keys, features}, -2, 2),
                            example_input(random, sizes.examples, {sizes.keys, features}, -1, 1)};
  for (Input& input : inputs) {
    for (float& value : input.values) value = from_bfloat16(to_bfloat16(value));
  }
  return case_of("attention", op, std::move(inputs),
                 {.examples = sizes.examples, .lengths = lengths});
}

// The room that the op asks for is that of the kernels without scores.
bool is_fused(const Case& of, const Kernels& kernels) {
  std::vector<Shape> shapes;
  for (const Input& input : of.inputs) shapes.push_back(input.shape);
  const auto rows = of.feed.examples * std::get<SdpaOp>(of.op).heads * shapes[0][1];
  const Needs needs = kernels.needs(of.op, shapes, of.output, 1);
  return needs.saved == rows && needs.scratch == rows;
}

// Near the definition; the same when threads, blocks and rows run from the last to the first.
void check_fused(const Case& of, Precision precision) {
  HostDevice device({.precision = precision});
  HostDevice late({.is_late = true, .precision = precision});
  REQUIRE(is_fused(of, device.kernels()));
  const Results found = results(of, device.kernels(), &device);
  CHECK(reference::too_far(of, found, fused_limit(precision)) == "");
  CHECK(first_difference(found, results(of, late.kernels(), &late)) == "");
}

// A call on memory of the test.
class DirectAttention {
 public:
  DirectAttention(const Case& of, Precision precision)
      : op_(std::get<SdpaOp>(of.op)),
        grid_({}, precision),
        y_(not_a_number(of.output.elements())),
        log_sums_(not_a_number(of.output[0] * op_.heads * of.output[1])),
        scratch_(log_sums_),
        y_shape_(of.output) {
    for (const Input& input : of.inputs) inputs_.push_back({input.values.data(), input.shape});
    drawing_ = {.seed = of.feed.seed, .first_position = of.feed.first_position};
    feed_.examples = of.feed.examples;
    feed_.lengths = of.feed.lengths;
    feed_.drawing = &drawing_;
    AttentionOps<HostGrid>::forward(grid_, op_,
                                    {.inputs = inputs_,
                                     .output = {y_.data(), y_shape_},
                                     .saved = saved(),
                                     .scratch = scratch(),
                                     .feed = feed_,
                                     .pass = Pass::train});
  }

  void back(const std::vector<float>& upstream, const std::vector<GradientTarget>& targets) {
    AttentionOps<HostGrid>::backward(grid_, op_,
                                     {.inputs = inputs_,
                                      .output = {y_.data(), y_shape_},
                                      .saved = saved(),
                                      .scratch = scratch(),
                                      .output_gradient = {upstream.data(), y_shape_},
                                      .input_gradients = targets,
                                      .feed = feed_});
  }

  [[nodiscard]] const std::vector<float>& y() const { return y_; }
  [[nodiscard]] const std::vector<float>& log_sums() const { return log_sums_; }

 private:
  static std::vector<float> not_a_number(std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count),
                              std::numeric_limits<float>::quiet_NaN());
  }
  Tensor saved() { return {log_sums_.data(), {std::ssize(log_sums_)}}; }
  Tensor scratch() { return {scratch_.data(), {std::ssize(scratch_)}}; }

  SdpaOp op_;
  HostGrid grid_;
  std::vector<float> y_;
  std::vector<float> log_sums_;
  std::vector<float> scratch_;
  Shape y_shape_;
  std::vector<ConstTensor> inputs_;
  Drawing drawing_;
  Feed feed_;
};

}  // namespace

TEST_CASE("how deep a head may be whose scores are never in memory", "[attention]") {
  for (const std::int64_t depth : {1, 32, 64, 1000}) {
    CHECK(fused_depth(Precision::float32, depth) == 0);
  }
  const auto [depth, of_tf32, of_bfloat16] = GENERATE(table<std::int64_t, int, int>({{1, 32, 32},
                                                                                     {32, 32, 32},
                                                                                     {33, 64, 64},
                                                                                     {64, 64, 64},
                                                                                     {65, 0, 128},
                                                                                     {128, 0, 128},
                                                                                     {129, 0, 0}}));
  CHECK(fused_depth(Precision::tf32, depth) == of_tf32);
  CHECK(fused_depth(Precision::bfloat16, depth) == of_bfloat16);
}

TEST_CASE("attention asks for no room for scores where it keeps none", "[attention]") {
  const auto needs = [](Precision precision, std::int64_t depth) {
    HostDevice device({.precision = precision});
    const Shape q{3, 100, 2 * depth};
    const Shape k{3, 70, 2 * depth};
    return device.kernels().needs(SdpaOp{.heads = 2}, std::vector<Shape>{q, k, k}, q, 1);
  };
  constexpr std::int64_t rows = 3 * 2 * 100;
  constexpr std::int64_t scores = rows * 70;
  CHECK(needs(Precision::bfloat16, 128).scratch == rows);
  CHECK(needs(Precision::tf32, 64).scratch == rows);
  CHECK(needs(Precision::bfloat16, 129).scratch == 2 * scores);
  CHECK(needs(Precision::tf32, 65).scratch == 2 * scores);
  CHECK(needs(Precision::float32, 16).scratch == 2 * scores);
  for (const Precision each : {Precision::float32, Precision::tf32, Precision::bfloat16}) {
    CHECK(needs(each, 64).saved == rows);
  }
}

TEST_CASE("attention without scores in memory is near its definition", "[attention]") {
  const Precision precision = GENERATE(from_range(fused_precisions));
  // Of one tile and several, whole and not.
  const FusedSizes sizes =
      GENERATE(FusedSizes{2, 65, 65, 5}, FusedSizes{1, 64, 64, 32}, FusedSizes{1, 130, 130, 4},
               FusedSizes{2, 33, 33, 33}, FusedSizes{1, 70, 70, 64}, FusedSizes{3, 1, 1, 1});
  const bool is_causal = GENERATE(false, true);
  INFO(precision_name(precision) << " " << sizes.queries << " depth " << sizes.depth << " causal "
                                 << is_causal);
  check_fused(fused_case(sizes, {.heads = 2, .is_causal = is_causal}), precision);
}

TEST_CASE("deep heads in bfloat16 have no scores in memory either", "[attention]") {
  const bool is_causal = GENERATE(false, true);
  check_fused(fused_case({1, 67, 67, 128}, {.heads = 1, .is_causal = is_causal}),
              Precision::bfloat16);
  check_fused(fused_case({2, 34, 34, 70}, {.heads = 2, .is_causal = is_causal}),
              Precision::bfloat16);
}

TEST_CASE("attention to other sequences is near its definition", "[attention]") {
  const Precision precision = GENERATE(from_range(fused_precisions));
  const FusedSizes sizes =
      GENERATE(FusedSizes{2, 3, 150, 7}, FusedSizes{2, 150, 3, 7}, FusedSizes{1, 64, 129, 40});
  INFO(precision_name(precision) << " " << sizes.queries << " to " << sizes.keys);
  check_fused(fused_case(sizes, {.heads = 2}), precision);
}

TEST_CASE("keys beyond a length are neither seen nor read", "[attention]") {
  const Precision precision = GENERATE(from_range(fused_precisions));
  const bool is_causal = GENERATE(false, true);
  INFO(precision_name(precision) << " causal " << is_causal);
  const std::vector<std::int32_t> lengths{0, 1, 64, 65, 90, 32};
  Case each = fused_case({6, 90, 90, 6}, {.heads = 2, .is_causal = is_causal}, lengths);
  check_fused(each, precision);

  HostDevice device({.precision = precision});
  const Results expected = results(each, device.kernels(), &device);
  for (const std::size_t input : {1U, 2U}) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const auto first = static_cast<std::ptrdiff_t>(i * 90 * 12);
      const auto begin = each.inputs[input].values.begin();
      std::fill(begin + first + lengths[i] * 12, begin + first + 90 * 12,
                std::numeric_limits<float>::quiet_NaN());
    }
  }
  CHECK(first_difference(expected, results(each, device.kernels(), &device)) == "");
}

TEST_CASE("the same probabilities are dropped as by definition", "[attention]") {
  const Precision precision = GENERATE(from_range(fused_precisions));
  const std::int64_t line = GENERATE(0, 101);
  INFO(precision_name(precision) << " " << line);
  const SdpaOp op{.heads = 2,
                  .is_causal = true,
                  .dropout = 0.4,
                  .layer = 3,
                  .line_queries = line,
                  .line_keys = line};
  check_fused(fused_case({2, 97, 97, 4}, op, {97, 50}), precision);
}

TEST_CASE("gradients of attention that nobody wants are not computed", "[attention]") {
  const Precision precision = GENERATE(from_range(fused_precisions));
  const int wanted = GENERATE(0, 1, 2, 3, 4, 5, 6);
  INFO(precision_name(precision) << " " << wanted);
  Case each = fused_case({1, 40, 70, 9}, {.heads = 2, .dropout = 0.2});
  for (std::size_t i = 0; i < 3; ++i) each.inputs[i].wants_gradient = (wanted >> i) % 2 == 1;
  check_fused(each, precision);
}

TEST_CASE("gradients of attention that have one place are added there", "[attention]") {
  const Precision precision = GENERATE(from_range(fused_precisions));
  const auto places = GENERATE(values<std::vector<std::size_t>>({{0, 0, 0}, {0, 1, 1}, {0, 1, 0}}));
  INFO(precision_name(precision));
  const Case each = fused_case({2, 70, 70, 8}, {.heads = 2, .is_causal = true});
  DirectAttention direct(each, precision);
  Random random(4);
  const std::vector<float> upstream = some_floats(random, each.output.elements());
  const auto count = static_cast<std::size_t>(each.output.elements());
  const auto backward = [&](const std::vector<std::size_t>& of_inputs) {
    std::vector<std::vector<float>> found(3, std::vector<float>(count, std::nanf("")));
    std::vector<GradientTarget> targets;
    std::vector<bool> is_written(3);
    for (const std::size_t place : of_inputs) {
      targets.push_back(
          {{found[place].data(), each.output}, is_written[place] ? Write::add : Write::overwrite});
      is_written[place] = true;
    }
    direct.back(upstream, targets);
    return found;
  };
  const std::vector<std::vector<float>> apart = backward({0, 1, 2});
  std::vector<std::vector<float>> expected(3, std::vector<float>(count));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t input = 0; input < 3; ++input) expected[places[input]][i] += apart[input][i];
  }
  const std::vector<std::vector<float>> found = backward(places);
  for (const std::size_t place : places) CHECK(found[place] == expected[place]);
}

TEST_CASE("attention without scores in memory passes NaN on", "[attention]") {
  const Precision precision = GENERATE(from_range(fused_precisions));
  const std::size_t spoilt = GENERATE(0U, 1U, 2U);
  INFO(precision_name(precision) << " " << spoilt);
  constexpr std::int64_t time = 70;
  Case each = fused_case({1, time, time, 4}, {.heads = 1, .is_causal = true});
  each.inputs[spoilt].values[66 * 4] = std::nanf("");
  DirectAttention direct(each, precision);
  const auto has_nan = [](const std::vector<float>& values, std::int64_t row) {
    const auto begin = values.begin() + row * 4;
    return std::any_of(begin, begin + 4, [](float value) { return std::isnan(value); });
  };
  // A query that is NaN spoils its own row; a key or a value those that see it.
  CHECK(has_nan(direct.y(), 66));
  CHECK(has_nan(direct.y(), 69) == (spoilt != 0));
  CHECK_FALSE(has_nan(direct.y(), 63));
  std::vector<std::vector<float>> gradients(3, std::vector<float>(time * 4));
  std::vector<GradientTarget> targets;
  for (std::vector<float>& gradient : gradients) {
    targets.push_back({{gradient.data(), each.output}, Write::overwrite});
  }
  direct.back(std::vector<float>(time * 4, 1.0F), targets);
  CHECK(has_nan(gradients[0], 66));
  CHECK(has_nan(gradients[1], 66));
  CHECK_FALSE(has_nan(gradients[0], 63));
}

// Each tile has a larger score than those before it, or a smaller one: what was added up shrinks,
// or what is added.
TEST_CASE("a softmax over many tiles of keys is mended by each of them", "[attention]") {
  const Precision precision = GENERATE(from_range(fused_precisions));
  const bool rises = GENERATE(true, false);
  INFO(precision_name(precision) << " rises " << rises);
  constexpr std::int64_t keys = 256;
  Case each = fused_case({1, 2, keys, 4}, {.heads = 1});
  for (std::int64_t i = 0; i < keys; ++i) {
    for (std::int64_t d = 0; d < 4; ++d) {
      const auto height = static_cast<float>(rises ? i : keys - 1 - i);
      each.inputs[1].values[static_cast<std::size_t>(i * 4 + d)] = d == 0 ? height : 0.0F;
    }
  }
  each.inputs[0].values = {0.5F, 0, 0, 0, 2, 0, 0, 0};
  const DirectAttention direct(each, precision);
  for (std::int64_t query = 0; query < 2; ++query) {
    const double slope = query == 0 ? 0.25 : 1;  // of scores: half of the query's number
    double sum = 0;
    std::vector<double> y(4);
    for (std::int64_t i = 0; i < keys; ++i) {
      const auto height = static_cast<double>(rises ? i : keys - 1 - i);
      const double weight = std::exp(slope * (height - (keys - 1)));
      sum += weight;
      for (std::size_t d = 0; d < 4; ++d) {
        y[d] += weight *
                static_cast<double>(each.inputs[2].values[static_cast<std::size_t>(i * 4) + d]);
      }
    }
    const auto place = static_cast<std::size_t>(query);
    CHECK(static_cast<double>(direct.log_sums()[place]) ==
          Approx(slope * (keys - 1) + std::log(sum)).epsilon(1e-6));
    for (std::size_t d = 0; d < 4; ++d) {
      CHECK(static_cast<double>(direct.y()[place * 4 + d]) ==
            Approx(y[d] / sum).margin(fused_limit(precision)));
    }
  }
}

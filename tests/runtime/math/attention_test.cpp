// Attention against its definition in double, PyTorch, and itself: cut otherwise, by other
// instructions, over what was masked.
#include "runtime/math/ops/cpu/attention.h"

#include <algorithm>
#include <cmath>

#include "tests/golden/golden.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

struct AttentionCase {
  std::int64_t examples = 1;
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  std::int64_t depth = 1;
  Attention attention = {};
  std::vector<std::int32_t> lengths = {};

  [[nodiscard]] std::int64_t features() const { return depth * attention.heads; }
  [[nodiscard]] Shape q() const { return {examples, queries, features()}; }
  [[nodiscard]] Shape k() const { return {examples, keys, features()}; }
  [[nodiscard]] Shape rows() const { return {examples, attention.heads, queries}; }
  // How many keys a query sees.
  [[nodiscard]] std::int64_t seen(std::int64_t example, std::int64_t query) const {
    const std::int64_t there = lengths.empty() ? keys : lengths[static_cast<std::size_t>(example)];
    return attention.is_causal ? std::min(there, query + 1) : there;
  }
};

struct AttentionValues {
  std::vector<float> q, k, v, upstream;
};

AttentionValues random_attention_values(const AttentionCase& of, std::uint64_t seed) {
  const auto queries = static_cast<std::size_t>(of.q().elements());
  const auto keys = static_cast<std::size_t>(of.k().elements());
  return {random_floats(queries, seed), random_floats(keys, seed + 1),
          random_floats(keys, seed + 2), random_floats(queries, seed + 3)};
}

struct Attended {
  std::vector<float> y, q_gradient, k_gradient, v_gradient;
};

Attended attended(const AttentionCase& of, const AttentionValues& values,
                  Write write = Write::overwrite, GemmKernel kernel = best_kernel()) {
  Attended results{
      std::vector<float>(values.q.size(), 99.0F), std::vector<float>(values.q.size(), 1.0F),
      std::vector<float>(values.k.size(), 1.0F), std::vector<float>(values.v.size(), 1.0F)};
  std::vector<float> log_sums(static_cast<std::size_t>(of.rows().elements()));
  std::vector<float> scratch(static_cast<std::size_t>(attend_gradient_scratch(of.keys)), 7.0F);
  const AttentionInputs in{.q = tensor_of(values.q, of.q()),
                           .k = tensor_of(values.k, of.k()),
                           .v = tensor_of(values.v, of.k()),
                           .lengths = of.lengths};
  attend(of.attention,
         {.in = in,
          .y = tensor_of(results.y, of.q()),
          .log_sums = tensor_of(log_sums, of.rows()),
          .scratch = scratch},
         kernel);
  std::ranges::fill(scratch, 5.0F);
  attend_gradient(of.attention,
                  {.in = in,
                   .y = tensor_of(std::as_const(results.y), of.q()),
                   .log_sums = tensor_of(std::as_const(log_sums), of.rows()),
                   .y_gradient = tensor_of(values.upstream, of.q()),
                   .q_gradient = tensor_of(results.q_gradient, of.q()),
                   .q_write = write,
                   .k_gradient = tensor_of(results.k_gradient, of.k()),
                   .k_write = write,
                   .v_gradient = tensor_of(results.v_gradient, of.k()),
                   .v_write = write,
                   .scratch = scratch},
                  kernel);
  return results;
}

// One query of a head, by the definition.
class AttentionByDefinition {
 public:
  AttentionByDefinition(const AttentionCase& of, const AttentionValues& values)
      : of_(of),
        values_(values),
        y_(values.q.size()),
        to_q_(values.q.size()),
        to_k_(values.k.size()),
        to_v_(values.v.size()) {}

  Attended run() {
    for (std::int64_t example = 0; example < of_.examples; ++example) {
      for (std::int64_t head = 0; head < of_.attention.heads; ++head) {
        for (std::int64_t query = 0; query < of_.queries; ++query) attend_one(example, head, query);
      }
    }
    return {rounded(y_), rounded(to_q_), rounded(to_k_), rounded(to_v_)};
  }

 private:
  void attend_one(std::int64_t example, std::int64_t head, std::int64_t query) {
    const auto depth = static_cast<std::size_t>(of_.depth);
    const auto features = static_cast<std::size_t>(of_.features());
    const std::size_t first = static_cast<std::size_t>(head) * depth;
    const auto q = static_cast<std::size_t>(example * of_.queries + query) * features + first;
    const auto key = [&](std::size_t j) {
      return (static_cast<std::size_t>(example * of_.keys) + j) * features + first;
    };
    const auto seen = static_cast<std::size_t>(of_.seen(example, query));
    const double scale = 1 / std::sqrt(static_cast<double>(of_.depth));
    std::vector<double> p(seen), dp(seen);
    double sum = 0;
    for (std::size_t j = 0; j < seen; ++j) {
      for (std::size_t i = 0; i < depth; ++i) {
        p[j] += wide(values_.q[q + i]) * wide(values_.k[key(j) + i]);
        dp[j] += wide(values_.upstream[q + i]) * wide(values_.v[key(j) + i]);
      }
      p[j] = std::exp(p[j] * scale);
      sum += p[j];
    }
    std::vector<float> factors(seen, 1.0F);
    if (of_.attention.dropout.rate > 0) {
      const auto position =
          static_cast<std::int64_t>(of_.attention.dropout.first_position) + example;
      const std::int64_t number =
          ((position * of_.attention.heads + head) * of_.queries + query) * of_.keys;
      dropout_factors(of_.attention.dropout, static_cast<std::uint64_t>(number), factors);
    }
    double along = 0;
    for (std::size_t j = 0; j < seen; ++j) {
      p[j] /= sum;
      dp[j] *= wide(factors[j]);
      along += p[j] * dp[j];
    }
    for (std::size_t j = 0; j < seen; ++j) {
      const double ds = p[j] * (dp[j] - along) * scale;
      for (std::size_t i = 0; i < depth; ++i) {
        y_[q + i] += p[j] * wide(factors[j]) * wide(values_.v[key(j) + i]);
        to_q_[q + i] += ds * wide(values_.k[key(j) + i]);
        to_k_[key(j) + i] += ds * wide(values_.q[q + i]);
        to_v_[key(j) + i] += p[j] * wide(factors[j]) * wide(values_.upstream[q + i]);
      }
    }
  }

  const AttentionCase& of_;
  const AttentionValues& values_;
  std::vector<double> y_, to_q_, to_k_, to_v_;
};

void require_close_to(const Attended& got, const Attended& expected, double tolerance) {
  require_close(got.y, expected.y, tolerance);
  require_close(got.q_gradient, expected.q_gradient, tolerance);
  require_close(got.k_gradient, expected.k_gradient, tolerance);
  require_close(got.v_gradient, expected.v_gradient, tolerance);
}

void require_same_results(const Attended& got, const Attended& expected) {
  require_same_bits(got.y, expected.y);
  require_same_bits(got.q_gradient, expected.q_gradient);
  require_same_bits(got.k_gradient, expected.k_gradient);
  require_same_bits(got.v_gradient, expected.v_gradient);
}

constexpr Dropout some_dropped{.seed = 3, .layer = 2, .rate = 0.3, .first_position = 5};

std::vector<AttentionCase> attention_cases() {
  return {
      {.examples = 1, .queries = 1, .keys = 1, .depth = 1},
      {.examples = 2, .queries = 5, .keys = 5, .depth = 3, .attention = {.heads = 2}},
      {.examples = 2, .queries = 70, .keys = 70, .depth = 8, .attention = {2, true}},
      {.examples = 1, .queries = 150, .keys = 33, .depth = 16, .attention = {.heads = 3}},
      {.examples = 1, .queries = 20, .keys = 700, .depth = 5, .attention = {.heads = 2}},
      {.examples = 1, .queries = 400, .keys = 400, .depth = 4, .attention = {1, true}},
      {.examples = 3, .queries = 80, .keys = 80, .depth = 6, .attention = {2, false, some_dropped}},
      {.examples = 2, .queries = 67, .keys = 67, .depth = 6, .attention = {2, true, some_dropped}},
      {.examples = 4,
       .queries = 70,
       .keys = 70,
       .depth = 6,
       .attention = {2, true, some_dropped},
       .lengths = {70, 1, 66, 0}},
      {.examples = 3, .queries = 9, .keys = 40, .depth = 4, .lengths = {40, 17, 0}}};
}

void note_case(const AttentionCase& of) {
  UNSCOPED_INFO(of.queries << " queries, " << of.keys << " keys, " << of.attention.heads
                           << " heads of " << of.depth);
}

}  // namespace

TEST_CASE("attention and its gradients are those of the definition", "[attention]") {
  for (const AttentionCase& of : attention_cases()) {
    note_case(of);
    const AttentionValues values = random_attention_values(of, 1);
    const Attended expected = AttentionByDefinition(of, values).run();
    require_close_to(attended(of, values), expected, 5e-6);
    Attended added = attended(of, values, Write::add);
    for (auto* gradient : {&added.q_gradient, &added.k_gradient, &added.v_gradient}) {
      for (float& value : *gradient) value -= 1.0F;
    }
    require_close_to(added, expected, 5e-6);
  }
}

TEST_CASE("attention has the same bits by AVX2 and AVX-512", "[attention]") {
  if (!is_available(GemmKernel::avx512)) return;
  for (const AttentionCase& of : attention_cases()) {
    note_case(of);
    const AttentionValues values = random_attention_values(of, 1);
    const auto by_avx512 = attended(of, values, Write::overwrite, GemmKernel::avx512);
    const WithoutAvx512 narrow;
    require_same_results(attended(of, values, Write::overwrite, GemmKernel::avx2), by_avx512);
  }
}

TEST_CASE("attention to an example has the same bits in every batch", "[attention]") {
  for (const AttentionCase& of : attention_cases()) {
    note_case(of);
    const AttentionValues values = random_attention_values(of, 1);
    const Attended whole = attended(of, values);
    for (std::int64_t example = 0; example < of.examples; ++example) {
      const auto cut = [&](const std::vector<float>& from) {
        const auto each = std::ssize(from) / of.examples;
        return std::vector<float>(from.begin() + example * each,
                                  from.begin() + (example + 1) * each);
      };
      AttentionCase one = of;
      one.examples = 1;
      if (!of.lengths.empty()) one.lengths = {of.lengths[static_cast<std::size_t>(example)]};
      one.attention.dropout.first_position += static_cast<std::uint64_t>(example);
      const Attended alone =
          attended(one, {cut(values.q), cut(values.k), cut(values.v), cut(values.upstream)});
      require_same_results(alone, {cut(whole.y), cut(whole.q_gradient), cut(whole.k_gradient),
                                   cut(whole.v_gradient)});
    }
  }
}

TEST_CASE("what lies at keys that nobody sees makes no difference, nor has it a gradient",
          "[attention]") {
  for (const bool is_causal : {false, true}) {
    const AttentionCase of{.examples = 2,
                           .queries = 70,
                           .keys = 70,
                           .depth = 8,
                           .attention = {2, is_causal},
                           .lengths = {50, 65}};
    AttentionValues values = random_attention_values(of, 1);
    const Attended expected = attended(of, values);
    for (std::int64_t example = 0; example < 2; ++example) {
      const std::int64_t each = of.keys * of.features();
      for (std::int64_t i = of.lengths[static_cast<std::size_t>(example)] * of.features(); i < each;
           ++i) {
        const auto at = static_cast<std::size_t>(example * each + i);
        values.k[at] = values.v[at] = std::numeric_limits<float>::infinity();
        REQUIRE(expected.k_gradient[at] == 0);
        REQUIRE(expected.v_gradient[at] == 0);
      }
    }
    require_same_results(attended(of, values), expected);
  }
}

TEST_CASE("a causal query has the bits of the last one of a shorter sequence", "[attention]") {
  const AttentionCase of{
      .examples = 1, .queries = 130, .keys = 130, .depth = 8, .attention = {1, true}};
  const AttentionValues values = random_attention_values(of, 1);
  const Attended whole = attended(of, values);
  for (const std::int64_t time : {1, 63, 64, 65, 100}) {
    AttentionCase shorter = of;
    shorter.queries = shorter.keys = time;
    const auto cut = [&](const std::vector<float>& from) {
      return std::vector<float>(from.begin(), from.begin() + time * of.depth);
    };
    const Attended part =
        attended(shorter, {cut(values.q), cut(values.k), cut(values.v), cut(values.upstream)});
    require_same_bits(part.y, cut(whole.y));
    require_same_bits(part.q_gradient, cut(whole.q_gradient));
  }
}

TEST_CASE("one value may be queries, keys and values, and its gradient their sum", "[attention]") {
  const AttentionCase of{
      .examples = 2, .queries = 70, .keys = 70, .depth = 4, .attention = {2, true}};
  AttentionValues values = random_attention_values(of, 1);
  values.k = values.v = values.q;
  const Attended apart = attended(of, values);
  std::vector<float> sum(values.q.size(), 99.0F);
  std::vector<float> log_sums(static_cast<std::size_t>(of.rows().elements()));
  std::vector<float> y(values.q.size());
  std::vector<float> scratch(static_cast<std::size_t>(attend_gradient_scratch(of.keys)));
  const ConstTensor x = tensor_of(std::as_const(values.q), of.q());
  attend(of.attention, {.in = {x, x, x},
                        .y = tensor_of(y, of.q()),
                        .log_sums = tensor_of(log_sums, of.rows()),
                        .scratch = scratch});
  const Tensor into = tensor_of(sum, of.q());
  attend_gradient(of.attention, {.in = {x, x, x},
                                 .y = tensor_of(std::as_const(y), of.q()),
                                 .log_sums = tensor_of(std::as_const(log_sums), of.rows()),
                                 .y_gradient = tensor_of(values.upstream, of.q()),
                                 .q_gradient = into,
                                 .k_gradient = into,
                                 .k_write = Write::add,
                                 .v_gradient = into,
                                 .v_write = Write::add,
                                 .scratch = scratch});
  std::vector<float> expected(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    expected[i] = apart.q_gradient[i] + apart.k_gradient[i] + apart.v_gradient[i];
  }
  require_close(sum, expected, 2e-6);
}

TEST_CASE("attention and its gradients are PyTorch's", "[attention][golden]") {
  const auto golden = load_golden("attention.json")["attention"];
  REQUIRE(golden.size() == 5);
  for (const auto& reference : golden) {
    const std::int64_t heads = reference["heads"];
    const AttentionCase of{.examples = reference["examples"],
                           .queries = reference["queries"],
                           .keys = reference["keys"],
                           .depth = reference["features"].get<std::int64_t>() / heads,
                           .attention = {heads, reference["causal"]},
                           .lengths = reference["lengths"]};
    const Attended got =
        attended(of, {reference["q"], reference["k"], reference["v"], reference["upstream"]});
    require_close_to(
        got,
        {reference["y"], reference["q_gradient"], reference["k_gradient"], reference["v_gradient"]},
        1e-6);
  }
}

}  // namespace trainyard::runtime

#include "runtime/math/ops/binary.h"

#include <algorithm>
#include <array>

#include "runtime/math/aligned_buffer.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/axis_walk.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

// NOLINTNEXTLINE: a table of names
constexpr std::array<std::pair<const char*, Binary>, 6> binary_names{{{"add", Binary::add},
                                                                      {"sub", Binary::sub},
                                                                      {"mul", Binary::mul},
                                                                      {"div", Binary::div},
                                                                      {"max", Binary::max},
                                                                      {"min", Binary::min}}};

struct Pair {
  Shape a;
  Shape b;

  [[nodiscard]] Shape y() const {
    Shape shape;
    for (std::size_t axis = 0; axis < a.rank(); ++axis) {
      shape.append(std::max(a[axis], b[axis]));
    }
    return shape;
  }
  [[nodiscard]] std::string text() const { return text_of(a) + " and " + text_of(b); }
};

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all{
      {{1}, {1}},
      {{33}, {33}},
      {{33}, {1}},
      {{1}, {33}},
      {{3, 4, 5}, {3, 4, 5}},
      {{3, 4, 5}, {3, 1, 5}},
      {{3, 4, 1}, {3, 1, 5}},
      {{2, 70, 9}, {2, 1, 9}},
      {{2, 1, 1, 40}, {2, 5, 6, 40}},
      {{2, 5, 6, 40}, {2, 5, 6, 1}},
      {{2, 1, 3, 1, 4}, {2, 5, 1, 6, 1}},
      {{2, 3, 1, 2, 3, 1, 2}, {1, 1, 2, 2, 1, 3, 2}},
  };
  return all;
}

struct Combined {
  std::vector<float> y;
  std::vector<float> a_gradient;
  std::vector<float> b_gradient;
};

struct PairValues {
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> upstream;
};

PairValues values_of(const Pair& pair) {
  const auto count = [](const Shape& shape) { return static_cast<std::size_t>(shape.elements()); };
  PairValues values{random_floats(count(pair.a), 1), random_floats(count(pair.b), 2),
                    random_floats(count(pair.y()), 3)};
  for (float& value : values.b) value += value < 0 ? -0.5F : 0.5F;  // it divides
  return values;
}

Combined combined(Binary op, const Pair& pair, const PairValues& values,
                  Write write = Write::overwrite) {
  Combined result{std::vector<float>(values.upstream.size()),
                  std::vector<float>(values.a.size(), 1.0F),
                  std::vector<float>(values.b.size(), 1.0F)};
  const Shape y = pair.y();
  combine(op, tensor_of(values.a, pair.a), tensor_of(values.b, pair.b), tensor_of(result.y, y));
  AlignedBuffer scratch(static_cast<std::size_t>(
      std::max(combine_gradient_scratch(pair.a, y), combine_gradient_scratch(pair.b, y))));
  const auto flow = [&](Towards of, Tensor into) {
    combine_gradient(op,
                     {.a = tensor_of(values.a, pair.a),
                      .b = tensor_of(values.b, pair.b),
                      .y_gradient = tensor_of(values.upstream, y),
                      .of = of,
                      .of_gradient = into,
                      .write = write},
                     scratch.span());
  };
  flow(Towards::a, tensor_of(result.a_gradient, pair.a));
  flow(Towards::b, tensor_of(result.b_gradient, pair.b));
  return result;
}

// Of one element: y, and the slopes towards a and b.
std::array<double, 3> slopes(Binary op, double a, double b) {
  switch (op) {
    case Binary::add: return {a + b, 1, 1};
    case Binary::sub: return {a - b, 1, -1};
    case Binary::mul: return {a * b, b, a};
    case Binary::div: return {a / b, 1 / b, -a / (b * b)};
    case Binary::max: return {std::max(a, b), a >= b ? 1.0 : 0.0, a >= b ? 0.0 : 1.0};
    case Binary::min: return {std::min(a, b), a <= b ? 1.0 : 0.0, a <= b ? 0.0 : 1.0};
  }
  return {};
}

Index stretched_back(const Shape& shape, Index index) {
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    if (shape[axis] == 1) index[axis] = 0;
  }
  return index;
}

Combined combined_by_definition(Binary op, const Pair& pair, const PairValues& values) {
  std::vector<double> y(values.upstream.size()), a(values.a.size()), b(values.b.size());
  for_each_index(pair.y(), [&](const Index& index, std::size_t place) {
    const std::size_t left = place_at(pair.a, stretched_back(pair.a, index));
    const std::size_t right = place_at(pair.b, stretched_back(pair.b, index));
    const auto [value, to_a, to_b] = slopes(op, wide(values.a[left]), wide(values.b[right]));
    y[place] = value;
    a[left] += wide(values.upstream[place]) * to_a;
    b[right] += wide(values.upstream[place]) * to_b;
  });
  return {rounded(y), rounded(a), rounded(b)};
}

}  // namespace

TEST_CASE("binary functions and their gradients are those of the definition, however stretched",
          "[binary]") {
  for (const auto& [name, op] : binary_names) {
    for (const Pair& pair : pairs()) {
      INFO(name << " of " << pair.text());
      const PairValues values = values_of(pair);
      const Combined got = combined(op, pair, values);
      const Combined expected = combined_by_definition(op, pair, values);
      require_close(got.y, expected.y, 1e-6);
      require_close(got.a_gradient, expected.a_gradient, 1e-5);
      require_close(got.b_gradient, expected.b_gradient, 1e-5);
      const Combined added = combined(op, pair, values, Write::add);
      for (std::size_t i = 0; i < values.a.size(); ++i) {
        REQUIRE(added.a_gradient[i] == 1.0F + got.a_gradient[i]);
      }
      for (std::size_t i = 0; i < values.b.size(); ++i) {
        REQUIRE(added.b_gradient[i] == 1.0F + got.b_gradient[i]);
      }
    }
  }
}

TEST_CASE("an example's binary functions do not depend on the batch it is in", "[binary]") {
  const Pair batch{{4, 5, 6, 9}, {4, 1, 6, 1}};
  const Pair three{{3, 5, 6, 9}, {3, 1, 6, 1}};
  const PairValues values = values_of(batch);
  PairValues part = values;
  part.a.resize(3 * 5 * 6 * 9);
  part.b.resize(3 * 6);
  part.upstream.resize(3 * 5 * 6 * 9);
  for (const auto& [name, op] : binary_names) {
    INFO(name);
    const Combined all = combined(op, batch, values);
    const Combined some = combined(op, three, part);
    require_same_bits(some.y, std::span(all.y).first(some.y.size()));
    require_same_bits(some.a_gradient, std::span(all.a_gradient).first(some.a_gradient.size()));
    require_same_bits(some.b_gradient, std::span(all.b_gradient).first(some.b_gradient.size()));
  }
}

TEST_CASE("of equal numbers the first is the larger one and the smaller one", "[binary]") {
  const PairValues values{{2.0F}, {2.0F}, {5.0F}};
  for (const Binary op : {Binary::max, Binary::min}) {
    const Combined got = combined(op, {{1}, {1}}, values);
    CHECK(got.a_gradient == std::vector<float>{5.0F});
    CHECK(got.b_gradient == std::vector<float>{0.0F});
  }
}

TEST_CASE("a binary function writes over an operand of its shape", "[binary]") {
  const Pair pair{{3, 40}, {3, 1}};
  const PairValues values = values_of(pair);
  for (const auto& [name, op] : binary_names) {
    INFO(name);
    std::vector<float> y = values.a;
    combine(op, tensor_of(std::as_const(y), pair.a), tensor_of(values.b, pair.b),
            tensor_of(y, pair.a));
    require_same_bits(y, combined(op, pair, values).y);
  }
}

TEST_CASE("binary functions and their gradients are PyTorch's", "[binary][golden]") {
  const auto golden = load_golden("elements.json");
  REQUIRE(golden["binary"].size() >= binary_names.size());
  for (const auto& reference : golden["binary"]) {
    const std::string name = reference["op"];
    const auto* const found =
        std::ranges::find_if(binary_names, [&](const auto& one) { return one.first == name; });
    REQUIRE(found != binary_names.end());
    const auto shape = [&](const char* key) {
      return shape_of(reference[key].get<std::vector<std::int64_t>>());
    };
    const Pair pair{shape("a_shape"), shape("b_shape")};
    INFO(name << " of " << pair.text());
    const PairValues values{reference["a"], reference["b"], reference["upstream"]};
    const Combined got = combined(found->second, pair, values);
    require_close(got.y, reference["y"].get<std::vector<float>>(), 1e-6);
    require_close(got.a_gradient, reference["a_gradient"].get<std::vector<float>>(), 1e-5);
    require_close(got.b_gradient, reference["b_gradient"].get<std::vector<float>>(), 1e-5);
  }
}

}  // namespace trainyard::runtime

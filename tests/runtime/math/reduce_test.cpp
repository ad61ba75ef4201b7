#include "runtime/math/ops/reduce.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/reduction.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/axis_walk.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

enum class Kind { sum, mean, max };

struct Reduced {
  std::vector<float> y;
  std::vector<float> places;
  std::vector<float> x_gradient;
};

bool is_among(const AxisNumbers& axes, std::size_t axis) {
  return std::ranges::count(axes.sizes(), static_cast<std::int64_t>(axis)) > 0;
}

// Of size 1 along them.
Shape without(const Shape& shape, const AxisNumbers& axes) {
  Shape result;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    result.append(is_among(axes, axis) ? 1 : shape[axis]);
  }
  return result;
}

Reduced reduced(Kind kind, const std::vector<float>& x, const Shape& shape, const AxisNumbers& axes,
                const std::vector<float>& upstream, Write write, float before = 0) {
  const Shape left = without(shape, axes);
  const auto elements = static_cast<std::size_t>(left.elements());
  Reduced result{std::vector<float>(elements), std::vector<float>(elements),
                 std::vector<float>(x.size(), before)};
  AlignedBuffer scratch(static_cast<std::size_t>(
      std::max(reduce_scratch(shape, axes), std::max<std::int64_t>(1, left.elements()))));
  const ConstTensor from = tensor_of(x, shape);
  const Tensor y = tensor_of(result.y, left);
  const ConstTensor y_gradient = tensor_of(upstream, left);
  const Tensor into = tensor_of(result.x_gradient, shape);
  switch (kind) {
    case Kind::sum:
      reduce_sum(from, axes, y, Write::overwrite, scratch.span());
      reduce_sum_gradient(y_gradient, axes, into, write);
      break;
    case Kind::mean:
      reduce_mean(from, axes, y, scratch.span());
      reduce_mean_gradient(y_gradient, axes, into, write, scratch.span());
      break;
    case Kind::max:
      reduce_max(from, axes, y, tensor_of(result.places, left));
      reduce_max_gradient(y_gradient, tensor_of(std::as_const(result.places), left), axes, into,
                          write);
      break;
  }
  return result;
}

Reduced by_definition(Kind kind, const std::vector<float>& x, const Shape& shape,
                      const AxisNumbers& axes, const std::vector<float>& upstream) {
  const Shape left = without(shape, axes);
  std::vector<double> sums(upstream.size());
  std::vector<double> best(upstream.size(), -std::numeric_limits<double>::infinity());
  std::vector<std::size_t> winner(upstream.size());
  std::vector<std::size_t> target(x.size());
  for_each_index(shape, [&](const Index& index, std::size_t place) {
    Index to = index;
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      if (is_among(axes, axis)) to[axis] = 0;
    }
    const std::size_t at = target[place] = place_at(left, to);
    sums[at] += wide(x[place]);
    if (best[at] < wide(x[place])) {
      best[at] = wide(x[place]);
      winner[at] = place;
    }
  });
  const double count = static_cast<double>(x.size()) / static_cast<double>(upstream.size());
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double full = wide(upstream[target[i]]);
    if (kind == Kind::max) {
      gradient[i] = winner[target[i]] == i ? full : 0;
    } else {
      gradient[i] = kind == Kind::mean ? full / count : full;
    }
  }
  if (kind == Kind::mean) {
    for (double& sum : sums) sum /= count;
  }
  return {rounded(kind == Kind::max ? best : sums), {}, rounded(gradient)};
}

std::vector<AxisNumbers> all_axes_of(const Shape& shape) {
  std::vector<AxisNumbers> all;
  for (std::uint32_t bits = 0; bits < (1U << shape.rank()); ++bits) {
    AxisNumbers axes;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      if (((bits >> axis) & 1U) != 0) axes.append(static_cast<std::int64_t>(axis));
    }
    all.push_back(axes);
  }
  return all;
}

const std::vector<Shape>& reduced_shapes() {
  static const std::vector<Shape> shapes{
      {1},          {7},       {300},        {70, 5},       {3, 150},
      {2, 65, 130}, {4, 1, 6}, {3, 4, 5, 6}, {2, 3, 1, 40}, {2, 3, 2, 3, 2, 3}};
  return shapes;
}

constexpr std::array kinds{Kind::sum, Kind::mean, Kind::max};

}  // namespace

TEST_CASE("reductions and their gradients are those of the definition, over all sets of axes",
          "[reduce]") {
  for (const Shape& shape : reduced_shapes()) {
    const auto x = random_floats(static_cast<std::size_t>(shape.elements()), 1);
    for (const AxisNumbers& axes : all_axes_of(shape)) {
      const auto upstream =
          random_floats(static_cast<std::size_t>(without(shape, axes).elements()), 2);
      for (const Kind kind : kinds) {
        INFO(text_of(shape) << " over " << text_of(axes) << " kind " << static_cast<int>(kind));
        const Reduced got = reduced(kind, x, shape, axes, upstream, Write::overwrite);
        const Reduced expected = by_definition(kind, x, shape, axes, upstream);
        // What a sum of numbers of both signs loses grows as the sum's own spread does.
        const auto terms = static_cast<double>(x.size()) / static_cast<double>(got.y.size());
        require_close(got.y, expected.y, 2e-6 * std::sqrt(terms));
        require_close(got.x_gradient, expected.x_gradient, 1e-6);
        const Reduced added = reduced(kind, x, shape, axes, upstream, Write::add, 1.0F);
        for (std::size_t i = 0; i < x.size(); ++i) {
          REQUIRE(added.x_gradient[i] == 1.0F + got.x_gradient[i]);
        }
      }
    }
  }
}

TEST_CASE("the order of a sum is the last axis in lanes, then rows in blocks", "[reduce]") {
  constexpr std::int64_t outer = 3, rows = 130, inner = 50;
  const auto x = random_floats(outer * rows * inner, 3);
  std::vector<float> lanes;
  for (std::int64_t row = 0; row < outer * rows; ++row) {
    lanes.push_back(sum(std::span(x).subspan(static_cast<std::size_t>(row * inner), inner)));
  }
  const std::vector<float> one(1);
  const auto sum_over = [&](const AxisNumbers& axes, std::size_t left) {
    const std::vector<float> upstream(left);
    return reduced(Kind::sum, x, {outer, rows, inner}, axes, upstream, Write::overwrite).y;
  };
  require_same_bits(sum_over({2}, outer * rows), lanes);
  // Neighbours are one axis, the outermost and the innermost are two.
  std::vector<float> whole(outer);
  for (std::size_t i = 0; i < outer; ++i) {
    whole[i] = sum(std::span(x).subspan(i * rows * inner, rows * inner));
  }
  require_same_bits(sum_over({1, 2}, outer), whole);
  std::vector<float> apart(rows);
  sum_rows(tensor_of(std::as_const(lanes), {outer, rows}), tensor_of(apart, {rows}),
           Write::overwrite);
  require_same_bits(sum_over({0, 2}, rows), apart);
  std::vector<float> columns(rows * inner);
  sum_rows(tensor_of(x, {outer, rows * inner}), tensor_of(columns, {rows * inner}),
           Write::overwrite);
  require_same_bits(sum_over({0}, rows * inner), columns);
}

TEST_CASE("an example's reductions do not depend on the batch it is in", "[reduce]") {
  const Shape batch{5, 4, 9, 33};
  const Shape two{2, 4, 9, 33};
  const std::size_t each = 4 * 9 * 33;
  const auto x = random_floats(5 * each, 4);
  const std::vector<float> head(x.begin() + each, x.begin() + 3 * each);
  for (const AxisNumbers& axes :
       {AxisNumbers{1}, AxisNumbers{3}, AxisNumbers{1, 3}, AxisNumbers{2}, AxisNumbers{1, 2, 3}}) {
    for (const Kind kind : kinds) {
      const auto left = static_cast<std::size_t>(without(batch, axes).elements()) / 5;
      const auto upstream = random_floats(5 * left, 5);
      const std::vector<float> theirs(upstream.begin() + static_cast<std::ptrdiff_t>(left),
                                      upstream.begin() + static_cast<std::ptrdiff_t>(3 * left));
      const Reduced all = reduced(kind, x, batch, axes, upstream, Write::overwrite);
      const Reduced some = reduced(kind, head, two, axes, theirs, Write::overwrite);
      require_same_bits(some.y, std::span(all.y).subspan(left, 2 * left));
      require_same_bits(some.x_gradient, std::span(all.x_gradient).subspan(each, 2 * each));
    }
  }
}

TEST_CASE("of equal values the first is the largest, and NaN loses unless it comes first",
          "[reduce]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const auto largest = [](const std::vector<float>& x) {
    return reduced(Kind::max, x, {4}, {0}, {1.0F}, Write::overwrite);
  };
  CHECK(largest({1, 3, 3, 2}).x_gradient == std::vector<float>{0, 1, 0, 0});
  CHECK(largest({1, nan, 3, nan}).y == std::vector<float>{3});
  CHECK(std::isnan(largest({nan, 1, 3, 2}).y[0]));
  CHECK(largest({nan, 1, 3, 2}).x_gradient == std::vector<float>{1, 0, 0, 0});
}

TEST_CASE("reductions and their gradients are PyTorch's", "[reduce][golden]") {
  const auto golden = load_golden("elements.json");
  REQUIRE(golden["reductions"].size() >= 9);
  for (const auto& reference : golden["reductions"]) {
    const std::string name = reference["kind"];
    const Kind kind = name == "sum" ? Kind::sum : name == "mean" ? Kind::mean : Kind::max;
    const Shape shape = shape_of(reference["shape"].get<std::vector<std::int64_t>>());
    const AxisNumbers axes = shape_of(reference["axes"].get<std::vector<std::int64_t>>());
    INFO(name << " of " << text_of(shape) << " over " << text_of(axes));
    const Reduced got =
        reduced(kind, reference["x"], shape, axes, reference["upstream"], Write::overwrite);
    require_close(got.y, reference["y"].get<std::vector<float>>(), 1e-6);
    require_close(got.x_gradient, reference["x_gradient"].get<std::vector<float>>(), 1e-6);
  }
}

}  // namespace trainyard::runtime

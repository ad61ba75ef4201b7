#include "runtime/math/ops/layout.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/runtime/math/axis_walk.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

// Squares of eight, what is left over beside them, and axes that vanish.
const std::vector<Shape>& layout_shapes() {
  static const std::vector<Shape> shapes{{1},
                                         {5},
                                         {8, 8},
                                         {9, 17},
                                         {1, 6},
                                         {6, 1},
                                         {3, 4, 5},
                                         {2, 16, 24},
                                         {2, 1, 9},
                                         {2, 3, 1, 10},
                                         {3, 8, 2, 9},
                                         {2, 3, 2, 3, 2},
                                         {1, 2, 3, 1, 2, 2}};
  return shapes;
}

std::vector<float> numbered(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

std::vector<float> plus_ones(std::vector<float> values) {
  for (float& value : values) value += 1.0F;
  return values;
}

// Where every axis but one begins at 0.
AxisNumbers first_at(const Shape& shape, std::size_t axis, std::int64_t begin) {
  AxisNumbers first;
  for (std::size_t i = 0; i < shape.rank(); ++i) first.append(i == axis ? begin : 0);
  return first;
}

Shape resized(const Shape& shape, std::size_t axis, std::int64_t size) {
  Shape result;
  for (std::size_t i = 0; i < shape.rank(); ++i) result.append(i == axis ? size : shape[i]);
  return result;
}

}  // namespace

TEST_CASE("transposed values are found at the transposed index, by every order of axes",
          "[layout]") {
  for (const Shape& shape : layout_shapes()) {
    std::vector<std::int64_t> order(shape.rank());
    std::iota(order.begin(), order.end(), 0);
    do {
      const AxisNumbers axes{std::span<const std::int64_t>(order)};
      Shape turned;
      for (const std::int64_t axis : order) turned.append(shape[static_cast<std::size_t>(axis)]);
      INFO(text_of(shape) << " by " << text_of(axes));
      const std::vector<float> x = numbered(shape);
      std::vector<float> y(x.size());
      transpose(tensor_of(x, shape), axes, tensor_of(y, turned));
      std::vector<float> expected(x.size());
      for_each_index(turned, [&](const Index& index, std::size_t place) {
        Index from(index.size());
        for (std::size_t i = 0; i < index.size(); ++i) {
          from[static_cast<std::size_t>(order[i])] = index[i];
        }
        expected[place] = x[place_at(shape, from)];
      });
      require_same_bits(y, expected);

      std::vector<float> back(x.size());
      transpose_gradient(tensor_of(std::as_const(y), turned), axes, tensor_of(back, shape),
                         Write::overwrite);
      require_same_bits(back, x);
      std::ranges::fill(back, 1.0F);
      transpose_gradient(tensor_of(std::as_const(y), turned), axes, tensor_of(back, shape),
                         Write::add);
      require_same_bits(back, plus_ones(x));
    } while (std::ranges::next_permutation(order).found);
  }
}

TEST_CASE("slices lie where they begin, and give back to that place alone", "[layout]") {
  for (const Shape& shape : layout_shapes()) {
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      for (const std::int64_t size : {std::int64_t{1}, shape[axis] / 2, shape[axis]}) {
        if (size == 0) continue;
        const std::int64_t begin = shape[axis] - size;
        const AxisNumbers first = first_at(shape, axis, begin);
        const Shape part = resized(shape, axis, size);
        INFO(text_of(shape) << " axis " << axis << " from " << begin);
        const std::vector<float> x = numbered(shape);
        std::vector<float> y(static_cast<std::size_t>(part.elements()));
        slice(tensor_of(x, shape), first, tensor_of(y, part));
        std::vector<float> expected;
        std::vector<float> scattered(x.size());
        for_each_index(shape, [&](const Index& index, std::size_t place) {
          if (index[axis] < begin) return;
          expected.push_back(x[place]);
          scattered[place] = x[place];
        });
        require_same_bits(y, expected);

        std::vector<float> back(x.size(), 9.0F);
        const ConstTensor upstream = tensor_of(std::as_const(y), part);
        slice_gradient(upstream, first, tensor_of(back, shape), Write::overwrite);
        require_same_bits(back, scattered);
        std::ranges::fill(back, 1.0F);
        slice_gradient(upstream, first, tensor_of(back, shape), Write::add);
        require_same_bits(back, plus_ones(scattered));

        // Padded again, it is where it was; what flows back through that is the slice.
        std::vector<float> padded(x.size());
        pad(upstream, first, -2.0F, tensor_of(padded, shape));
        for_each_index(shape, [&](const Index& index, std::size_t place) {
          REQUIRE(padded[place] == (index[axis] < begin ? -2.0F : x[place]));
        });
        std::vector<float> taken(y.size(), 1.0F);
        pad_gradient(tensor_of(x, shape), first, tensor_of(taken, part), Write::add);
        require_same_bits(taken, plus_ones(y));
      }
    }
  }
}

TEST_CASE("padding surrounds a value on all sides", "[layout]") {
  const std::vector<float> x{1, 2, 3, 4};
  std::vector<float> y(20);
  pad(tensor_of(x, {2, 2}), {1, 2}, 7.0F, tensor_of(y, {4, 5}));
  REQUIRE(y == std::vector<float>{7, 7, 7, 7, 7, 7, 7, 1, 2, 7, 7, 7, 3, 4, 7, 7, 7, 7, 7, 7});
  std::vector<float> back(4);
  std::vector<float> upstream(20);
  std::iota(upstream.begin(), upstream.end(), 0.0F);
  pad_gradient(tensor_of(std::as_const(upstream), {4, 5}), {1, 2}, tensor_of(back, {2, 2}),
               Write::overwrite);
  REQUIRE(back == std::vector<float>{7, 8, 12, 13});
}

TEST_CASE("inputs that are joined lie one behind the other, and each gets its own back",
          "[layout]") {
  for (const Shape& shape : layout_shapes()) {
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      INFO(text_of(shape) << " axis " << axis);
      const std::array<std::int64_t, 3> sizes{2, 1, 5};
      const std::vector<float> whole = numbered(resized(shape, axis, 8));
      const Shape whole_shape = resized(shape, axis, 8);
      std::vector<std::vector<float>> parts;
      std::vector<ConstTensor> inputs;
      std::int64_t begin = 0;
      for (const std::int64_t size : sizes) {
        const Shape part = resized(shape, axis, size);
        std::vector<float> values(static_cast<std::size_t>(part.elements()));
        concat_gradient(tensor_of(whole, whole_shape), axis, begin, tensor_of(values, part),
                        Write::overwrite);
        for_each_index(part, [&](const Index& index, std::size_t place) {
          Index from = index;
          from[axis] += begin;
          REQUIRE(values[place] == whole[place_at(whole_shape, from)]);
        });
        std::vector<float> added(values.size(), 1.0F);
        concat_gradient(tensor_of(whole, whole_shape), axis, begin, tensor_of(added, part),
                        Write::add);
        require_same_bits(added, plus_ones(values));
        parts.push_back(std::move(values));
        inputs.push_back({parts.back().data(), part});
        begin += size;
      }
      std::vector<float> joined(whole.size());
      concat(inputs, axis, tensor_of(joined, whole_shape));
      require_same_bits(joined, whole);
    }
  }
}

}  // namespace trainyard::runtime

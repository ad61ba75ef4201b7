// Products of values with each other: matrices, and the fields of an example.
#include <array>
#include <utility>

#include "runtime/math/ops/factor.h"
#include "runtime/math/ops/matmul.h"
#include "runtime/math/ops/matrix_product.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/axis_walk.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

struct ProductCase {
  std::int64_t matrices = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t depth = 1;
  Transposed lies;

  [[nodiscard]] Shape a() const {
    return lies.a ? Shape{matrices, depth, rows} : Shape{matrices, rows, depth};
  }
  [[nodiscard]] Shape b() const {
    return lies.b ? Shape{matrices, columns, depth} : Shape{matrices, depth, columns};
  }
  [[nodiscard]] Shape y() const { return {matrices, rows, columns}; }
  [[nodiscard]] std::size_t a_at(std::int64_t matrix, std::int64_t row, std::int64_t step) const {
    return place_at(a(), lies.a ? Index{matrix, step, row} : Index{matrix, row, step});
  }
  [[nodiscard]] std::size_t b_at(std::int64_t matrix, std::int64_t step,
                                 std::int64_t column) const {
    return place_at(b(), lies.b ? Index{matrix, column, step} : Index{matrix, step, column});
  }
};

struct ProductResult {
  std::vector<float> y;
  std::vector<float> a_gradient;
  std::vector<float> b_gradient;
};

ProductResult multiplied(const ProductCase& of, const std::vector<float>& a,
                         const std::vector<float>& b, const std::vector<float>& upstream,
                         Write write = Write::overwrite) {
  ProductResult result{std::vector<float>(upstream.size()), std::vector<float>(a.size(), 1.0F),
                       std::vector<float>(b.size(), 1.0F)};
  matrix_product(of.lies, tensor_of(a, of.a()), tensor_of(b, of.b()), tensor_of(result.y, of.y()));
  matrix_product_a_gradient(of.lies, tensor_of(b, of.b()), tensor_of(upstream, of.y()),
                            tensor_of(result.a_gradient, of.a()), write);
  matrix_product_b_gradient(of.lies, tensor_of(a, of.a()), tensor_of(upstream, of.y()),
                            tensor_of(result.b_gradient, of.b()), write);
  return result;
}

ProductResult multiplied_by_definition(const ProductCase& of, const std::vector<float>& a,
                                       const std::vector<float>& b,
                                       const std::vector<float>& upstream) {
  std::vector<double> y(upstream.size()), to_a(a.size()), to_b(b.size());
  for_each_index(of.y(), [&](const Index& index, std::size_t place) {
    for (std::int64_t step = 0; step < of.depth; ++step) {
      const std::size_t left = of.a_at(index[0], index[1], step);
      const std::size_t right = of.b_at(index[0], step, index[2]);
      y[place] += wide(a[left]) * wide(b[right]);
      to_a[left] += wide(upstream[place]) * wide(b[right]);
      to_b[right] += wide(upstream[place]) * wide(a[left]);
    }
  });
  return {rounded(y), rounded(to_a), rounded(to_b)};
}

constexpr std::array<Transposed, 4> all_ways{
    {{false, false}, {false, true}, {true, false}, {true, true}}};

struct FieldsResult {
  std::vector<float> y;
  std::vector<float> x_gradient;
};

enum class Interaction { factorize, pairwise_dot };

FieldsResult interacted(Interaction kind, const Shape& shape, const std::vector<float>& x,
                        const std::vector<float>& upstream, Write write = Write::overwrite) {
  FieldsResult result{std::vector<float>(upstream.size()), std::vector<float>(x.size(), 1.0F)};
  const Shape y{shape[0], std::ssize(upstream) / shape[0]};
  const ConstTensor from = tensor_of(x, shape);
  const Tensor into = tensor_of(result.x_gradient, shape);
  if (kind == Interaction::factorize) {
    factorize(from, tensor_of(result.y, y));
    factorize_gradient(from, tensor_of(upstream, y), into, write);
  } else {
    pairwise_dot(from, tensor_of(result.y, y));
    pairwise_dot_gradient(from, tensor_of(upstream, y), into, write);
  }
  return result;
}

// Both from the products of all pairs.
FieldsResult interacted_by_definition(Interaction kind, const Shape& shape,
                                      const std::vector<float>& x,
                                      const std::vector<float>& upstream) {
  std::vector<double> y(upstream.size()), gradient(x.size());
  const auto outputs = static_cast<std::int64_t>(upstream.size()) / shape[0];
  for (std::int64_t example = 0; example < shape[0]; ++example) {
    std::int64_t pair = 0;
    for (std::int64_t one = 1; one < shape[1]; ++one) {
      for (std::int64_t other = 0; other < one; ++other, ++pair) {
        const auto at = static_cast<std::size_t>(example * outputs +
                                                 (kind == Interaction::factorize ? 0 : pair));
        for (std::int64_t i = 0; i < shape[2]; ++i) {
          const std::size_t left = place_at(shape, {example, one, i});
          const std::size_t right = place_at(shape, {example, other, i});
          y[at] += wide(x[left]) * wide(x[right]);
          gradient[left] += wide(upstream[at]) * wide(x[right]);
          gradient[right] += wide(upstream[at]) * wide(x[left]);
        }
      }
    }
  }
  return {rounded(y), rounded(gradient)};
}

}  // namespace

TEST_CASE("products of two values are those of the definition, whichever lies transposed",
          "[product]") {
  for (const Transposed lies : all_ways) {
    for (const ProductCase& of :
         {ProductCase{1, 1, 1, 1, lies}, ProductCase{3, 5, 7, 9, lies},
          ProductCase{2, 33, 17, 40, lies}, ProductCase{2, 3, 50, 700, lies}}) {
      INFO(text_of(of.a()) << " by " << text_of(of.b()));
      const auto a = random_floats(static_cast<std::size_t>(of.a().elements()), 1);
      const auto b = random_floats(static_cast<std::size_t>(of.b().elements()), 2);
      const auto upstream = random_floats(static_cast<std::size_t>(of.y().elements()), 3);
      const ProductResult got = multiplied(of, a, b, upstream);
      const ProductResult expected = multiplied_by_definition(of, a, b, upstream);
      require_close(got.y, expected.y, 1e-4);
      require_close(got.a_gradient, expected.a_gradient, 1e-5);
      require_close(got.b_gradient, expected.b_gradient, 1e-5);
      ProductResult added = multiplied(of, a, b, upstream, Write::add);
      for (float& value : added.a_gradient) value -= 1.0F;
      for (float& value : added.b_gradient) value -= 1.0F;
      require_close(added.a_gradient, expected.a_gradient, 1e-5);
      require_close(added.b_gradient, expected.b_gradient, 1e-5);
    }
  }
}

TEST_CASE("a product of two values has the bits of one with a kernel, matrix by matrix",
          "[product]") {
  const ProductCase of{.matrices = 3, .rows = 20, .columns = 30, .depth = 400, .lies = {}};
  const auto a = random_floats(3 * 20 * 400, 1);
  const auto b = random_floats(3 * 400 * 30, 2);
  const auto upstream = random_floats(3 * 20 * 30, 3);
  const ProductResult got = multiplied(of, a, b, upstream);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<float> x(a.data() + i * 8000, a.data() + (i + 1) * 8000);
    const std::vector<float> kernel(b.data() + i * 12000, b.data() + (i + 1) * 12000);
    std::vector<float> y(600);
    matmul(tensor_of(x, {20, 400}), tensor_of(kernel, {400, 30}), {}, tensor_of(y, {20, 30}));
    require_same_bits(y, std::span(got.y).subspan(i * 600, 600));
  }
}

TEST_CASE("fields go together as the definition says", "[product]") {
  for (const Interaction kind : {Interaction::factorize, Interaction::pairwise_dot}) {
    for (const Shape& shape :
         {Shape{1, 2, 1}, Shape{3, 5, 7}, Shape{2, 40, 16}, Shape{2, 3, 300}}) {
      INFO("kind " << static_cast<int>(kind) << " of " << text_of(shape));
      const std::int64_t outputs =
          kind == Interaction::factorize ? 1 : shape[1] * (shape[1] - 1) / 2;
      const auto x = random_floats(static_cast<std::size_t>(shape.elements()), 1);
      const auto upstream = random_floats(static_cast<std::size_t>(shape[0] * outputs), 2);
      const FieldsResult got = interacted(kind, shape, x, upstream);
      const FieldsResult expected = interacted_by_definition(kind, shape, x, upstream);
      require_close(got.y, expected.y, 5e-5);
      require_close(got.x_gradient, expected.x_gradient, 2e-5);
      FieldsResult added = interacted(kind, shape, x, upstream, Write::add);
      for (float& value : added.x_gradient) value -= 1.0F;
      require_close(added.x_gradient, expected.x_gradient, 2e-5);
      // The last example alone has the same bits.
      const auto each = static_cast<std::size_t>(shape[1] * shape[2]);
      const std::vector<float> last(x.end() - static_cast<std::ptrdiff_t>(each), x.end());
      const std::vector<float> last_upstream(upstream.end() - outputs, upstream.end());
      const FieldsResult one = interacted(kind, {1, shape[1], shape[2]}, last, last_upstream);
      require_same_bits(one.y, std::span(got.y).last(one.y.size()));
      require_same_bits(one.x_gradient, std::span(got.x_gradient).last(each));
    }
  }
}

TEST_CASE("products of values and their gradients are PyTorch's", "[product][golden]") {
  const auto golden = load_golden("elements.json");
  REQUIRE(golden["matrix_products"].size() == 4);
  for (const auto& reference : golden["matrix_products"]) {
    const ProductCase of{reference["matrices"],
                         reference["rows"],
                         reference["columns"],
                         reference["depth"],
                         {reference["transpose_a"], reference["transpose_b"]}};
    const ProductResult got = multiplied(of, reference["a"], reference["b"], reference["upstream"]);
    require_close(got.y, reference["y"].get<std::vector<float>>(), 1e-6);
    require_close(got.a_gradient, reference["a_gradient"].get<std::vector<float>>(), 1e-6);
    require_close(got.b_gradient, reference["b_gradient"].get<std::vector<float>>(), 1e-6);
  }
  for (const auto& [name, kind] : {std::pair{"fm", Interaction::factorize},
                                   std::pair{"pairwise_dot", Interaction::pairwise_dot}}) {
    const auto reference = golden[name];
    const Shape shape{reference["examples"], reference["fields"], reference["features"]};
    const FieldsResult got = interacted(kind, shape, reference["x"], reference["upstream"]);
    require_close(got.y, reference["y"].get<std::vector<float>>(), 2e-6);
    require_close(got.x_gradient, reference["x_gradient"].get<std::vector<float>>(), 2e-6);
  }
}

}  // namespace trainyard::runtime

#include "runtime/math/ops/row_function.h"

#include <array>
#include <limits>

#include "tests/golden/golden.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

enum class RowKind { softmax, log_softmax, l2_normalize };

// NOLINTNEXTLINE: a table of names
constexpr std::array<std::pair<const char*, RowKind>, 3> row_kinds{
    {{"softmax", RowKind::softmax},
     {"log_softmax", RowKind::log_softmax},
     {"l2_normalize", RowKind::l2_normalize}}};

struct RowResult {
  std::vector<float> y;
  std::vector<float> x_gradient;
};

RowResult row_result(RowKind kind, const Shape& shape, const std::vector<float>& x,
                     const std::vector<float>& upstream, Write write = Write::overwrite) {
  RowResult result{std::vector<float>(x.size()), std::vector<float>(x.size(), 1.0F)};
  std::vector<float> norms(static_cast<std::size_t>(shape.rows()));
  const ConstTensor from = tensor_of(x, shape);
  const Tensor y = tensor_of(result.y, shape);
  const ConstTensor y_gradient = tensor_of(upstream, shape);
  const Tensor into = tensor_of(result.x_gradient, shape);
  switch (kind) {
    case RowKind::softmax:
      softmax(from, y);
      softmax_gradient(y, y_gradient, into, write);
      break;
    case RowKind::log_softmax:
      log_softmax(from, y);
      log_softmax_gradient(y, y_gradient, into, write);
      break;
    case RowKind::l2_normalize:
      l2_normalize(from, y, tensor_of(norms, {shape.rows()}));
      l2_normalize_gradient({.x = from,
                             .norms = tensor_of(std::as_const(norms), {shape.rows()}),
                             .y_gradient = y_gradient,
                             .x_gradient = into,
                             .write = write});
      break;
  }
  return result;
}

RowResult row_by_definition(RowKind kind, std::int64_t columns, const std::vector<float>& x,
                            const std::vector<float>& upstream) {
  std::vector<double> y(x.size()), gradient(x.size());
  const auto width = static_cast<std::size_t>(columns);
  for (std::size_t first = 0; first < x.size(); first += width) {
    double total = 0, squares = 0, upstream_sum = 0, along = 0;
    for (std::size_t i = first; i < first + width; ++i) {
      total += std::exp(wide(x[i]));
      squares += wide(x[i]) * wide(x[i]);
      upstream_sum += wide(upstream[i]);
    }
    for (std::size_t i = first; i < first + width; ++i) {
      y[i] = kind == RowKind::softmax       ? std::exp(wide(x[i])) / total
             : kind == RowKind::log_softmax ? wide(x[i]) - std::log(total)
                                            : wide(x[i]) / std::sqrt(squares);
      along += y[i] * wide(upstream[i]);
    }
    for (std::size_t i = first; i < first + width; ++i) {
      const double du = wide(upstream[i]);
      gradient[i] = kind == RowKind::softmax       ? y[i] * (du - along)
                    : kind == RowKind::log_softmax ? du - std::exp(y[i]) * upstream_sum
                                                   : (du - y[i] * along) / std::sqrt(squares);
    }
  }
  return {rounded(y), rounded(gradient)};
}

}  // namespace

TEST_CASE("functions of rows and their gradients are those of the definition", "[row]") {
  for (const auto& [name, kind] : row_kinds) {
    for (const std::int64_t columns : {1, 2, 15, 16, 17, 100, 1000}) {
      INFO(name << " of " << columns);
      const Shape shape{3, 2, columns};
      const auto x = random_floats(static_cast<std::size_t>(6 * columns), 1);
      const auto upstream = random_floats(x.size(), 2);
      const RowResult got = row_result(kind, shape, x, upstream);
      const RowResult expected = row_by_definition(kind, columns, x, upstream);
      require_close(got.y, expected.y, 2e-6);
      require_close(got.x_gradient, expected.x_gradient, 1e-5);
      const RowResult added = row_result(kind, shape, x, upstream, Write::add);
      for (std::size_t i = 0; i < x.size(); ++i) {
        REQUIRE(added.x_gradient[i] == 1.0F + got.x_gradient[i]);
      }
    }
  }
}

TEST_CASE("functions of rows have the same bits by any vectors", "[row]") {
  warn_without_avx512();
  for (const auto& [name, kind] : row_kinds) {
    for (std::int64_t columns = 1; columns <= 70; ++columns) {
      INFO(name << " of " << columns);
      const Shape shape{3, columns};
      const auto x = random_floats(static_cast<std::size_t>(3 * columns), 1);
      const auto upstream = random_floats(x.size(), 2);
      for (const Write write : {Write::overwrite, Write::add}) {
        const RowResult wide = row_result(kind, shape, x, upstream, write);
        const WithoutAvx512 hidden;
        const RowResult narrow = row_result(kind, shape, x, upstream, write);
        require_same_bits(wide.y, narrow.y);
        require_same_bits(wide.x_gradient, narrow.x_gradient);
      }
    }
  }
}

TEST_CASE("functions of rows work in place, and each row for itself", "[row]") {
  const Shape shape{5, 37};
  const auto x = random_floats(5 * 37, 3);
  const auto upstream = random_floats(x.size(), 4);
  for (const auto& [name, kind] : row_kinds) {
    INFO(name);
    const RowResult apart = row_result(kind, shape, x, upstream);
    std::vector<float> y = x;
    std::vector<float> gradient = upstream;
    std::vector<float> norms(5);
    const Tensor both = tensor_of(y, shape);
    const Tensor back = tensor_of(gradient, shape);
    switch (kind) {
      case RowKind::softmax:
        softmax(both, both);
        softmax_gradient(both, back, back, Write::overwrite);
        break;
      case RowKind::log_softmax:
        log_softmax(both, both);
        log_softmax_gradient(both, back, back, Write::overwrite);
        break;
      case RowKind::l2_normalize:
        l2_normalize(both, both, tensor_of(norms, {5}));
        l2_normalize_gradient({tensor_of(x, shape), tensor_of(std::as_const(norms), {5}), back,
                               back, Write::overwrite});
        break;
    }
    require_same_bits(y, apart.y);
    require_same_bits(gradient, apart.x_gradient);
    const std::vector<float> row(x.begin() + 37, x.begin() + 74);
    const std::vector<float> row_upstream(upstream.begin() + 37, upstream.begin() + 74);
    const RowResult one = row_result(kind, {1, 37}, row, row_upstream);
    require_same_bits(one.y, std::span(apart.y).subspan(37, 37));
    require_same_bits(one.x_gradient, std::span(apart.x_gradient).subspan(37, 37));
  }
}

TEST_CASE("a softmax of large numbers is finite, and NaN fills its row alone", "[row]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{1e30F, -1e30F, 1e30F, 1, nan, 2};
  const std::vector<float> upstream(6);
  const RowResult plain = row_result(RowKind::softmax, {2, 3}, x, upstream);
  const RowResult logs = row_result(RowKind::log_softmax, {2, 3}, x, upstream);
  CHECK(plain.y[0] == 0.5F);
  CHECK(plain.y[1] == 0.0F);
  CHECK(logs.y[0] == Approx(-std::log(2.0)));
  for (std::size_t i = 3; i < 6; ++i) {
    CHECK(std::isnan(plain.y[i]));
    CHECK(std::isnan(logs.y[i]));
  }
}

TEST_CASE("a row near zero is not blown up", "[row]") {
  const std::vector<float> x{0, 0, 3e-13F, 4e-13F};
  const std::vector<float> upstream{1, 2, 3, 4};
  const RowResult got = row_result(RowKind::l2_normalize, {2, 2}, x, upstream);
  require_close(got.y, std::vector<float>{0, 0, 0.3F, 0.4F}, 1e-6);
  require_close(got.x_gradient, std::vector<float>{1e12F, 2e12F, 3e12F, 4e12F}, 1e-6);
}

TEST_CASE("functions of rows and their gradients are PyTorch's", "[row][golden]") {
  const auto golden = load_golden("elements.json");
  for (const auto& [name, kind] : row_kinds) {
    INFO(name);
    REQUIRE(!golden[name].empty());
    for (const auto& reference : golden[name]) {
      const Shape shape{reference["rows"], reference["columns"]};
      const RowResult got = row_result(kind, shape, reference["x"], reference["upstream"]);
      require_close(got.y, reference["y"].get<std::vector<float>>(), 2e-6);
      require_close(got.x_gradient, reference["x_gradient"].get<std::vector<float>>(), 2e-6);
    }
  }
}

}  // namespace trainyard::runtime

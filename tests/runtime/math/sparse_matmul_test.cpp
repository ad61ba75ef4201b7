#include "runtime/math/ops/sparse_matmul.h"

#include "runtime/math/ops/matmul.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

namespace {

SparseRows rows_of(const nlohmann::json& reference) {
  return {.offsets = reference["offsets"],
          .columns = reference["columns"],
          .values = reference["values"]};
}

std::vector<float> dense_of(const SparseRows& rows, std::int64_t columns) {
  const std::int64_t count = rows.view().rows();
  std::vector<float> matrix(static_cast<std::size_t>(count * columns));
  for (std::int64_t row = 0; row < count; ++row) {
    for (auto i = static_cast<std::size_t>(rows.offsets[static_cast<std::size_t>(row)]);
         std::cmp_less(i, rows.offsets[static_cast<std::size_t>(row) + 1]); ++i) {
      matrix[static_cast<std::size_t>(row * columns + rows.columns[i])] = rows.values[i];
    }
  }
  return matrix;
}

}  // namespace

TEST_CASE("the product of sparse rows and its gradient are PyTorch's", "[sparse][golden]") {
  const auto golden = load_golden("sparse.json");
  for (const auto& reference : golden.at("sparse_matmul")) {
    const SparseRows x = rows_of(reference);
    const std::int64_t rows = x.view().rows();
    const std::int64_t in = reference["features"];
    const std::int64_t out = reference["out"];
    const std::vector<float> kernel = reference["kernel"];
    const std::vector<float> bias = reference["bias"];
    const std::vector<float> upstream = reference["upstream"];
    std::vector<float> product(upstream.size());
    std::vector<float> gradient(kernel.size(), 99.0F);

    sparse_matmul(x.view(), tensor_of(kernel, {in, out}), tensor_of(bias, {out}),
                  tensor_of(product, {rows, out}));
    sparse_matmul_kernel_gradient(x.view(), tensor_of(upstream, {rows, out}),
                                  tensor_of(gradient, {in, out}), Write::overwrite);

    require_close(product, reference["y"].get<std::vector<float>>(), 2e-6);
    require_close(gradient, reference["kernel_gradient"].get<std::vector<float>>(), 2e-6);
  }
}

TEST_CASE("sparse rows give what the same rows give as a matrix", "[sparse]") {
  const SparseRows x{.offsets = {0, 3, 3, 4, 6},
                     .columns = {0, 4, 6, 2, 5, 6},
                     .values = {1.5F, -2.0F, 0.25F, 3.0F, -1.0F, 0.5F}};
  const std::vector<float> matrix = dense_of(x, 7);
  const std::vector<float> kernel = random_floats(21, 1);
  const std::vector<float> upstream = random_floats(12, 2);
  std::vector<float> sparse(12);
  std::vector<float> dense(12);
  sparse_matmul(x.view(), tensor_of(kernel, {7, 3}), {}, tensor_of(sparse, {4, 3}));
  matmul(tensor_of(matrix, {4, 7}), tensor_of(kernel, {7, 3}), {}, tensor_of(dense, {4, 3}));
  require_close(sparse, dense, 1e-6);

  std::vector<float> sparse_gradient(21, 1.0F);
  std::vector<float> dense_gradient(21, 1.0F);
  sparse_matmul_kernel_gradient(x.view(), tensor_of(upstream, {4, 3}),
                                tensor_of(sparse_gradient, {7, 3}), Write::add);
  matmul_kernel_gradient(tensor_of(matrix, {4, 7}), tensor_of(upstream, {4, 3}),
                         tensor_of(dense_gradient, {7, 3}), Write::add);
  require_close(sparse_gradient, dense_gradient, 1e-6);
}

TEST_CASE("a product of sparse rows shows NaN", "[sparse]") {
  const SparseRows x{.offsets = {0, 1, 2}, .columns = {0, 1}, .values = {0.0F, 1.0F}};
  const std::vector<float> kernel{std::numeric_limits<float>::quiet_NaN(), 2.0F};
  std::vector<float> product(2);
  sparse_matmul(x.view(), tensor_of(kernel, {2, 1}), {}, tensor_of(product, {2, 1}));
  CHECK(std::isnan(product[0]));  // 0 times NaN
  CHECK(product[1] == 2.0F);
}

}  // namespace trainyard::runtime

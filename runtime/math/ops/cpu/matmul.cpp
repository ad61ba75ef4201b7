// Products by Eigen. Its blocking follows cache sizes that are pinned here, because it decides the
// order of additions.
#include "runtime/math/ops/matmul.h"

// Eigen's other way for the smallest products adds in an order that depends on the memory's
// alignment: never use it.
#define EIGEN_GEMM_TO_COEFFBASED_THRESHOLD 0
#include <Eigen/Core>

namespace trainyard::runtime {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMatrix = Eigen::Map<const RowMajor>;
using Matrix = Eigen::Map<RowMajor>;
using ConstRow = Eigen::Map<const Eigen::RowVectorXf>;

ConstMatrix matrix(ConstTensor tensor) {
  return {tensor.data, tensor.shape.rows(), tensor.shape.columns()};
}
Matrix matrix(Tensor tensor) { return {tensor.data, tensor.shape.rows(), tensor.shape.columns()}; }

void pin_blocking() {
  static const bool pinned = [] {
    Eigen::setCpuCacheSizes(32 << 10, 1 << 20, 32 << 20);
    Eigen::setNbThreads(1);
    return true;
  }();
  static_cast<void>(pinned);
}

template <class Left, class Right>
void add_product(const Left& left, const Right& right, Matrix product) {
  pin_blocking();
  product.noalias() += left * right;
}

void prepare(Tensor target, Write write) {
  if (write == Write::overwrite) matrix(target).setZero();
}

}  // namespace

void matmul(ConstTensor x, ConstTensor kernel, ConstTensor bias, Tensor product) {
  ENSURE(x.shape.columns() == kernel.shape.rows());
  ENSURE(product.shape.rows() == x.shape.rows());
  ENSURE(product.shape.columns() == kernel.shape.columns());
  if (bias.data == nullptr) {
    matrix(product).setZero();
  } else {
    ENSURE(bias.elements() == kernel.shape.columns());
    matrix(product).rowwise() = ConstRow(bias.data, bias.elements());
  }
  add_product(matrix(x), matrix(kernel), matrix(product));
}

void matmul_x_gradient(ConstTensor product_gradient, ConstTensor kernel, Tensor x_gradient,
                       Write write) {
  ENSURE(product_gradient.shape.columns() == kernel.shape.columns());
  ENSURE(x_gradient.shape.rows() == product_gradient.shape.rows());
  ENSURE(x_gradient.shape.columns() == kernel.shape.rows());
  prepare(x_gradient, write);
  add_product(matrix(product_gradient), matrix(kernel).transpose(), matrix(x_gradient));
}

void matmul_kernel_gradient(ConstTensor x, ConstTensor product_gradient, Tensor kernel_gradient,
                            Write write) {
  ENSURE(x.shape.rows() == product_gradient.shape.rows());
  ENSURE(kernel_gradient.shape.rows() == x.shape.columns());
  ENSURE(kernel_gradient.shape.columns() == product_gradient.shape.columns());
  prepare(kernel_gradient, write);
  add_product(matrix(x).transpose(), matrix(product_gradient), matrix(kernel_gradient));
}

}  // namespace trainyard::runtime

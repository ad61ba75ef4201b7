#include "runtime/math/ops/activation.h"

#include "runtime/math/ops/cpu/vector_math.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// y[i] = function(x[i]); y is x or apart from it, which is what ivdep promises.
template <class Function>
void map(ConstTensor x, Tensor y, Function function) {
  const std::int64_t size = y.elements();
#pragma GCC ivdep
  for (std::int64_t i = 0; i < size; ++i) y.data[i] = function(x.data[i]);
}

template <class Function>
void map_gradient(ConstTensor y, ConstTensor y_gradient, Tensor x_gradient, Write write,
                  Function function) {
  const std::int64_t size = y.elements();
  if (write == Write::add) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < size; ++i) {
      x_gradient.data[i] += function(y.data[i], y_gradient.data[i]);
    }
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < size; ++i) {
      x_gradient.data[i] = function(y.data[i], y_gradient.data[i]);
    }
  }
}

}  // namespace

void activate(Nonlinearity kind, ConstTensor x, Tensor y) {
  ENSURE(x.shape == y.shape);
  switch (kind) {
    case Nonlinearity::relu:
      return map(x, y, [](float value) { return value < 0.0F ? 0.0F : value; });
    case Nonlinearity::sigmoid: return map(x, y, sigmoid_float);
    case Nonlinearity::tanh: return map(x, y, tanh_float);
  }
}

void activate_gradient(Nonlinearity kind, ConstTensor y, ConstTensor y_gradient, Tensor x_gradient,
                       Write write) {
  ENSURE(y.shape == y_gradient.shape && y.shape == x_gradient.shape);
  switch (kind) {
    case Nonlinearity::relu:
      return map_gradient(y, y_gradient, x_gradient, write,
                          [](float out, float gradient) { return out <= 0.0F ? 0.0F : gradient; });
    case Nonlinearity::sigmoid:
      return map_gradient(y, y_gradient, x_gradient, write, [](float out, float gradient) {
        return gradient * (out * (1.0F - out));
      });
    case Nonlinearity::tanh:
      return map_gradient(y, y_gradient, x_gradient, write,
                          [](float out, float gradient) { return gradient * (1.0F - out * out); });
  }
}

}  // namespace trainyard::runtime

#include "runtime/math/ops/activation.h"

#include "runtime/math/ops/cpu/activation_functions.h"
#include "runtime/math/ops/cpu/elementwise_map.h"

namespace trainyard::runtime {

Side gradient_reads(Nonlinearity kind) {
  return with_function(kind, [](auto function) { return decltype(function)::reads; });
}

void activate(const Activation& activation, ConstTensor x, Tensor y) {
  with_function(activation, [&](auto function) {
    map(x, y, [function](float value) { return function.value(value); });
  });
}

void activate_gradient(const Activation& activation, ConstTensor kept, ConstTensor y_gradient,
                       Tensor x_gradient, Write write) {
  with_function(activation, [&](auto function) {
    map_two(kept, y_gradient, x_gradient, write,
            [function](float at, float upstream) { return function.gradient(at, upstream); });
  });
}

}  // namespace trainyard::runtime

#include "runtime/math/ops/linear.h"

#include "runtime/math/ops/cpu/elementwise_map.h"

namespace trainyard::runtime {

void affine(const Affine& by, ConstTensor x, Tensor y) {
  map(x, y, [by](float value) { return value * by.scale + by.shift; });
}

void affine_gradient(const Affine& by, ConstTensor y_gradient, Tensor x_gradient, Write write) {
  map_two(y_gradient, y_gradient, x_gradient, write,
          [by](float upstream, float) { return upstream * by.scale; });
}

void clip(const Limits& limits, ConstTensor x, Tensor y) {
  map(x, y, [limits](float value) {
    const float above = value < limits.least ? limits.least : value;
    return above > limits.most ? limits.most : above;
  });
}

void clip_gradient(const Limits& limits, ConstTensor x, ConstTensor y_gradient, Tensor x_gradient,
                   Write write) {
  map_two(x, y_gradient, x_gradient, write, [limits](float value, float upstream) {
    const float not_below = value < limits.least ? 0.0F : upstream;
    return value > limits.most ? 0.0F : not_below;
  });
}

}  // namespace trainyard::runtime

// Elementwise functions and their gradients. Where the gradient can be written in terms of the
// output it is, so that the function works in place.
#pragma once

#include <string_view>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// gelu is the one of the normal distribution (PyTorch: approximate = "none"), gelu_tanh that of
// tanh. log is that of base e; exp stays finite: 2.4e38 above 88.4.
enum class Nonlinearity {
  relu,
  leaky_relu,
  elu,
  gelu,
  gelu_tanh,
  silu,
  sigmoid,
  tanh,
  softplus,
  exp,
  log,
  log1p,
  sqrt,
  square,
  abs
};

enum class Domain { all, above_zero };
// In their order above: what goes over all of them, tests above all, need not be told of a new one.
struct NamedNonlinearity {
  std::string_view name;  // in the model language
  Nonlinearity kind;
  Domain domain = Domain::all;
};
inline constexpr NamedNonlinearity nonlinearities[]{
    {"relu", Nonlinearity::relu},
    {"leaky_relu", Nonlinearity::leaky_relu},
    {"elu", Nonlinearity::elu},
    {"gelu", Nonlinearity::gelu},
    {"gelu_tanh", Nonlinearity::gelu_tanh},
    {"silu", Nonlinearity::silu},
    {"sigmoid", Nonlinearity::sigmoid},
    {"tanh", Nonlinearity::tanh},
    {"softplus", Nonlinearity::softplus},
    {"exp", Nonlinearity::exp},
    {"log", Nonlinearity::log, Domain::above_zero},
    {"log1p", Nonlinearity::log1p, Domain::above_zero},
    {"sqrt", Nonlinearity::sqrt, Domain::above_zero},
    {"square", Nonlinearity::square},
    {"abs", Nonlinearity::abs}};

struct Activation {
  // A nonlinearity without a parameter is an activation.
  constexpr Activation(Nonlinearity of_kind, float of_alpha = 0)  // NOLINT: implicit
      : kind(of_kind), alpha(of_alpha) {}

  Nonlinearity kind;
  float alpha;  // leaky_relu: the slope below zero, 0 or more; elu: minus the least value, above 0
};

enum class Side { input, output };
// What the gradient is computed from.
Side gradient_reads(Nonlinearity kind);

// y = f(x), any shape; y may be x. NaN stays NaN.
void activate(const Activation& activation, ConstTensor x, Tensor y);

// x_gradient = y_gradient * f'(x), with f'(x) computed from `kept`: x or y, as gradient_reads says.
// x_gradient may be y_gradient. At a kink f' is the one from below, of abs 0.
void activate_gradient(const Activation& activation, ConstTensor kept, ConstTensor y_gradient,
                       Tensor x_gradient, Write write);

}  // namespace trainyard::runtime

// Each activation as a type: value(x), and gradient(kept, upstream) of what it reads.
#pragma once

#include <cmath>

#include "runtime/math/ops/activation.h"
#include "runtime/math/ops/cpu/vector_log.h"
#include "runtime/math/ops/cpu/vector_math.h"

namespace trainyard::runtime {

// Where the gradient is one of the output.
struct ReadsOutput {
  static constexpr Side reads = Side::output;
};
struct ReadsInput {
  static constexpr Side reads = Side::input;
};

struct Relu : ReadsOutput {
  TRAINYARD_BOTH static float value(float x) { return x < 0.0F ? 0.0F : x; }
  TRAINYARD_BOTH static float gradient(float y, float upstream) {
    return y <= 0.0F ? 0.0F : upstream;
  }
};

struct LeakyRelu : ReadsOutput {
  float slope = 0;
  [[nodiscard]] TRAINYARD_BOTH float value(float x) const { return x < 0.0F ? slope * x : x; }
  [[nodiscard]] TRAINYARD_BOTH float gradient(float y, float upstream) const {
    return y <= 0.0F ? slope * upstream : upstream;
  }
};

struct Elu : ReadsOutput {
  float alpha = 1;
  [[nodiscard]] TRAINYARD_BOTH float value(float x) const {
    return x < 0.0F ? alpha * expm1_float(x) : x;
  }
  [[nodiscard]] TRAINYARD_BOTH float gradient(float y, float upstream) const {
    return y <= 0.0F ? upstream * (y + alpha) : upstream;
  }
};

struct Gelu : ReadsInput {
  TRAINYARD_BOTH static float value(float x) { return x * normal_at(x).below; }
  TRAINYARD_BOTH static float gradient(float x, float upstream) {
    const NormalAt normal = normal_at(x);
    return upstream * (normal.below + x * normal.density);
  }
};

// x sigmoid(v) of some v(x); 1/2 (1 + tanh(v / 2)) is the same without the digits of small values.
TRAINYARD_BOTH inline float gated_slope(float x, float gate, float v_slope) {
  return gate + (x * v_slope) * (gate * (1.0F - gate));
}

struct GeluTanh : ReadsInput {
  static constexpr float twice_sqrt_2_over_pi = 1.59576912F;
  static constexpr float cubic = 0.044715F;
  TRAINYARD_BOTH static float gate(float x) {
    return sigmoid_float(twice_sqrt_2_over_pi * (x + cubic * (x * (x * x))));
  }
  TRAINYARD_BOTH static float value(float x) { return x * gate(x); }
  TRAINYARD_BOTH static float gradient(float x, float upstream) {
    const float v_slope = twice_sqrt_2_over_pi * (1.0F + (3.0F * cubic) * (x * x));
    return upstream * gated_slope(x, gate(x), v_slope);
  }
};

struct Silu : ReadsInput {
  TRAINYARD_BOTH static float value(float x) { return x * sigmoid_float(x); }
  TRAINYARD_BOTH static float gradient(float x, float upstream) {
    return upstream * gated_slope(x, sigmoid_float(x), 1.0F);
  }
};

struct Sigmoid : ReadsOutput {
  TRAINYARD_BOTH static float value(float x) { return sigmoid_float(x); }
  TRAINYARD_BOTH static float gradient(float y, float upstream) {
    return upstream * (y * (1.0F - y));
  }
};

struct Tanh : ReadsOutput {
  TRAINYARD_BOTH static float value(float x) { return tanh_float(x); }
  TRAINYARD_BOTH static float gradient(float y, float upstream) {
    return upstream * (1.0F - y * y);
  }
};

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|): no exponent is above zero.
struct Softplus : ReadsOutput {
  TRAINYARD_BOTH static float value(float x) {
    const float rest = log1p_float(exp_float(-std::fabs(x)));
    return (x < 0.0F ? 0.0F : x) + rest;
  }
  TRAINYARD_BOTH static float gradient(float y, float upstream) {
    return upstream * -expm1_float(-y);
  }
};

struct Exp : ReadsOutput {
  TRAINYARD_BOTH static float value(float x) { return exp_float(x); }
  TRAINYARD_BOTH static float gradient(float y, float upstream) { return upstream * y; }
};

struct Log : ReadsInput {
  TRAINYARD_BOTH static float value(float x) { return log_float(x); }
  TRAINYARD_BOTH static float gradient(float x, float upstream) { return upstream / x; }
};

struct Log1p : ReadsInput {
  TRAINYARD_BOTH static float value(float x) { return log1p_float(x); }
  TRAINYARD_BOTH static float gradient(float x, float upstream) { return upstream / (1.0F + x); }
};

struct Sqrt : ReadsOutput {
  TRAINYARD_BOTH static float value(float x) { return std::sqrt(x); }
  TRAINYARD_BOTH static float gradient(float y, float upstream) { return upstream / (2.0F * y); }
};

struct Square : ReadsInput {
  TRAINYARD_BOTH static float value(float x) { return x * x; }
  TRAINYARD_BOTH static float gradient(float x, float upstream) { return upstream * (2.0F * x); }
};

struct Abs : ReadsInput {
  TRAINYARD_BOTH static float value(float x) { return std::fabs(x); }
  TRAINYARD_BOTH static float gradient(float x, float upstream) {
    return x == 0.0F ? 0.0F : std::copysign(1.0F, x) * upstream;
  }
};

// visit(function)
template <class Visit>
auto with_function(const Activation& activation, Visit visit) {
  using enum Nonlinearity;
  switch (activation.kind) {
    case relu: return visit(Relu{});
    case leaky_relu: return visit(LeakyRelu{{}, activation.alpha});
    case elu: return visit(Elu{{}, activation.alpha});
    case gelu: return visit(Gelu{});
    case gelu_tanh: return visit(GeluTanh{});
    case silu: return visit(Silu{});
    case sigmoid: return visit(Sigmoid{});
    case tanh: return visit(Tanh{});
    case softplus: return visit(Softplus{});
    case exp: return visit(Exp{});
    case log: return visit(Log{});
    case log1p: return visit(Log1p{});
    case sqrt: return visit(Sqrt{});
    case square: return visit(Square{});
    case abs: break;
  }
  return visit(Abs{});
}

}  // namespace trainyard::runtime

// Functions of two numbers, and their slopes: types that a loop, or a kernel, takes along.
#pragma once

#include "runtime/math/elements/both.h"
#include "runtime/math/ops/binary.h"

namespace trainyard::runtime {

struct SumOfTwo {
  TRAINYARD_BOTH float operator()(float a, float b) const { return a + b; }
};
struct DifferenceOfTwo {
  TRAINYARD_BOTH float operator()(float a, float b) const { return a - b; }
};
struct ProductOfTwo {
  TRAINYARD_BOTH float operator()(float a, float b) const { return a * b; }
};
struct QuotientOfTwo {
  TRAINYARD_BOTH float operator()(float a, float b) const { return a / b; }
};
struct LargerOfTwo {
  TRAINYARD_BOTH float operator()(float a, float b) const { return a < b ? b : a; }
};
struct SmallerOfTwo {
  TRAINYARD_BOTH float operator()(float a, float b) const { return b < a ? b : a; }
};

// visit(op(a, b))
template <class Visit>
void with_op(Binary op, Visit visit) {
  switch (op) {
    case Binary::add: return visit(SumOfTwo{});
    case Binary::sub: return visit(DifferenceOfTwo{});
    case Binary::mul: return visit(ProductOfTwo{});
    case Binary::div: return visit(QuotientOfTwo{});
    case Binary::max: return visit(LargerOfTwo{});
    case Binary::min: return visit(SmallerOfTwo{});
  }
}

// What flows back, of a, b and the gradient of the result.
struct UpstreamItself {
  TRAINYARD_BOTH float operator()(float, float, float upstream) const { return upstream; }
};
struct MinusUpstream {
  TRAINYARD_BOTH float operator()(float, float, float upstream) const { return -upstream; }
};
struct UpstreamTimesA {
  TRAINYARD_BOTH float operator()(float a, float, float upstream) const { return upstream * a; }
};
struct UpstreamTimesB {
  TRAINYARD_BOTH float operator()(float, float b, float upstream) const { return upstream * b; }
};
struct UpstreamByB {
  TRAINYARD_BOTH float operator()(float, float b, float upstream) const { return upstream / b; }
};
struct UpstreamToDivisor {
  TRAINYARD_BOTH float operator()(float a, float b, float upstream) const {
    return -upstream * ((a / b) / b);
  }
};
struct UpstreamIfALess {
  TRAINYARD_BOTH float operator()(float a, float b, float upstream) const {
    return a < b ? upstream : 0.0F;
  }
};
struct UpstreamUnlessALess {
  TRAINYARD_BOTH float operator()(float a, float b, float upstream) const {
    return a < b ? 0.0F : upstream;
  }
};
struct UpstreamIfBLess {
  TRAINYARD_BOTH float operator()(float a, float b, float upstream) const {
    return b < a ? upstream : 0.0F;
  }
};
struct UpstreamUnlessBLess {
  TRAINYARD_BOTH float operator()(float a, float b, float upstream) const {
    return b < a ? 0.0F : upstream;
  }
};

// visit(gradient(a, b, upstream)) towards a.
template <class Visit>
void with_gradient_to_a(Binary op, Visit visit) {
  switch (op) {
    case Binary::add:
    case Binary::sub: return visit(UpstreamItself{});
    case Binary::mul: return visit(UpstreamTimesB{});
    case Binary::div: return visit(UpstreamByB{});
    case Binary::max: return visit(UpstreamUnlessALess{});
    case Binary::min: return visit(UpstreamUnlessBLess{});
  }
}

template <class Visit>
void with_gradient_to_b(Binary op, Visit visit) {
  switch (op) {
    case Binary::add: return visit(UpstreamItself{});
    case Binary::sub: return visit(MinusUpstream{});
    case Binary::mul: return visit(UpstreamTimesA{});
    case Binary::div: return visit(UpstreamToDivisor{});
    case Binary::max: return visit(UpstreamIfALess{});
    case Binary::min: return visit(UpstreamIfBLess{});
  }
}

}  // namespace trainyard::runtime

// The product of two values, for each leading index. The bits of one are those of matmul.h.
#pragma once

#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

// Which of them lie transposed: a [.., depth, rows] instead of [.., rows, depth], b [.., columns,
// depth] instead of [.., depth, columns].
struct Transposed {
  bool a = false;
  bool b = false;
};

// y [.., rows, columns] = a b. Leading axes are the same; y overlaps nothing.
void matrix_product(Transposed lies, ConstTensor a, ConstTensor b, Tensor y,
                    const Threads& threads = {});

// As a, and b, lie.
void matrix_product_a_gradient(Transposed lies, ConstTensor b, ConstTensor y_gradient,
                               Tensor a_gradient, Write write, const Threads& threads = {});
void matrix_product_b_gradient(Transposed lies, ConstTensor a, ConstTensor y_gradient,
                               Tensor b_gradient, Write write, const Threads& threads = {});

}  // namespace trainyard::runtime

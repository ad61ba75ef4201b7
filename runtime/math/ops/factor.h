// How the fields of an example go together: x [examples, fields, features].
#pragma once

#include <cstdint>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// y [examples, 1] = half of the sum over the features of (sum of the fields)^2 - sum of the
// fields' squares: the sum of all products of two fields (Rendle, "Factorization Machines", 2010).
// Over fields as sum_rows() adds; over 128 features at a time as sum(), these one after another.
void factorize(ConstTensor x, Tensor y);
void factorize_gradient(ConstTensor x, ConstTensor y_gradient, Tensor x_gradient, Write write);

// y [examples, fields (fields - 1) / 2] = the products of two fields: of field 1 with 0, of 2 with
// 0 and 1, and so on. Each is added as sum() does.
void pairwise_dot(ConstTensor x, Tensor y);
// Over the other fields in ascending order.
void pairwise_dot_gradient(ConstTensor x, ConstTensor y_gradient, Tensor x_gradient, Write write);

}  // namespace trainyard::runtime

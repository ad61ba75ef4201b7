// Sums and maxima in a fixed order: sixteen lanes, combined pairwise at the end, so that they are
// vectorised and give the same bits everywhere.
#pragma once

#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

float sum(std::span<const float> values);
float maximum(std::span<const float> values);  // of one value or more
double sum_in_double(std::span<const float> values);

// sums [columns] = the sum over all rows of matrix [rows, columns], from the first row to the last.
void sum_rows(ConstTensor matrix, Tensor sums, Write write);

}  // namespace trainyard::runtime

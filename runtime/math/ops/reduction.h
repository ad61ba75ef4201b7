// Sums and maxima in a fixed order: sixteen lanes, combined pairwise at the end, so that they are
// vectorised and give the same bits everywhere.
#pragma once

#include <span>

#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

float sum(std::span<const float> values);
float maximum(std::span<const float> values);  // of one value or more
double sum_in_double(std::span<const float> values);

// sums [columns] = the sum over all rows of matrix [rows, columns]; Write::add: that much more.
// Blocks of 64 rows are summed one row after another, then the blocks pairwise, as a binary tree
// from the left, whose odd node goes up unchanged: what other processors can compute in parallel,
// and more exact than one chain (Higham, "The accuracy of floating point summation", 1993).
void sum_rows(ConstTensor matrix, Tensor sums, Write write, const Threads& threads = {});

}  // namespace trainyard::runtime

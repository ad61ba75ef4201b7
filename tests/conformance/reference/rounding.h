// How near to its definition an op is to be whose products are of fewer bits than float32.
#pragma once

#include <string_view>

#include "schemas/types/precision.h"
#include "tests/conformance/case.h"

namespace trainyard::runtime::reference {

// By the norm of the numbers themselves, for ops of a family: of one product, or of many in a row,
// as a recurrence has one for each step, and attention's go through a softmax.
double rounding_limit(Precision precision, std::string_view family);

// Whether small errors of its products remain small: not in the gradients of a recurrence of relu.
bool is_smooth(const Case& of);

// With inputs of one half at most: a softmax that has decided, or a recurrence that grows, makes
// any error of a product as large as one likes.
Case with_small_inputs(Case of);

}  // namespace trainyard::runtime::reference

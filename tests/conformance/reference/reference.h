// What each op of the language is, by its definition: naive loops in double that know nothing of
// the kernels. They are the oracle of every device and every precision.
#pragma once

#include "tests/conformance/run_case.h"

namespace trainyard::runtime::reference {

// The results that a device should have, of the same names and in the same order as `of_kernels`,
// and how far these are from them: of each the norm of the error by that of the numbers themselves.
// Not finite numbers have to be the same. "" or which result is further away than `limit`.
std::string too_far(const Case& of, const Results& of_kernels, double limit);

}  // namespace trainyard::runtime::reference

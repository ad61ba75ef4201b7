// What a GPU can do by its maker's data sheet: what products are held against.
#pragma once

#include <string_view>

#include "schemas/types/precision.h"

namespace trainyard::runtime {

// Operations a second, by the name that the driver tells: in float32 without tensor cores, else by
// them, of dense matrices, with sums in float32. 0: not known here.
double known_peak_flops(std::string_view name, Precision precision);

}  // namespace trainyard::runtime

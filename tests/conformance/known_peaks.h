// What a GPU can do in float32 by its maker's data sheet, without tensor cores: what products are
// held against.
#pragma once

#include <string_view>

namespace trainyard::runtime {

// Operations a second, by the name that the driver tells; 0: not known here.
double known_peak_flops(std::string_view name);

}  // namespace trainyard::runtime

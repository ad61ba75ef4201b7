// The precisions' names, as users write them.
#pragma once

#include "schemas/types/names.h"
#include "schemas/types/precision.h"

namespace trainyard {

inline constexpr NameTable<Precision, 3> precision_names{{{Precision::float32, "float32"},
                                                          {Precision::tf32, "tf32"},
                                                          {Precision::bfloat16, "bfloat16"}}};

}  // namespace trainyard

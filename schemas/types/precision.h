// In which precision a GPU multiplies: float32 gives the bytes of a CPU, the others are of tensor
// cores, with sums in float32.
#pragma once

namespace trainyard {

enum class Precision { float32, tf32, bfloat16 };

}  // namespace trainyard

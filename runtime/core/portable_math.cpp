// Range reduction by exact operations, then a Taylor series that is long enough for a double.
#include "runtime/core/portable_math.h"

#include "runtime/core/portable_functions.h"

namespace trainyard::runtime {

double portable_log(double x) { return log_of_double(x); }

double portable_exp(double x) { return exp_of_double(x); }

double cos_of_turns(double turns) { return cos_of_double_turns(turns); }

double integer_power(double base, std::int64_t exponent) {
  double result = 1.0;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace trainyard::runtime

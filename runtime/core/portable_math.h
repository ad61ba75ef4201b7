// The few functions of double that results depend on, with the same bits on every host: the C
// library's own differ from version to version. Plain IEEE arithmetic in a fixed order, accurate to
// about 1e-15.
#pragma once

#include <cstdint>

namespace trainyard::runtime {

// Natural logarithm of a positive, normal number; infinity and NaN stay what they are.
double portable_log(double x);

// e^x: 0 below -708, where the numbers stop to be normal, and infinity above 709.7.
double portable_exp(double x);

// cos(2 pi turns), for |turns| up to 2^50.
double cos_of_turns(double turns);

// base^exponent by repeated squaring; exponent of 0 or more.
double integer_power(double base, std::int64_t exponent);

}  // namespace trainyard::runtime

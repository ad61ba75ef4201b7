#include "tests/conformance/reference/rounding.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace trainyard::runtime::reference {

double rounding_limit(Precision precision, std::string_view family) {
  const double of_product = precision == Precision::tf32 ? 1e-3 : 1e-2;
  return family == "recurrent" || family == "attention" ? 8 * of_product : of_product;
}

bool is_smooth(const Case& of) {
  const auto* const rnn = std::get_if<RnnOp>(&of.op);
  return rnn == nullptr || !rnn->is_relu;
}

Case with_small_inputs(Case of) {
  for (Input& input : of.inputs) {
    float largest = 0;
    for (const float value : input.values) largest = std::max(largest, std::abs(value));
    if (!(largest > 0.5F)) continue;
    for (float& value : input.values) value *= 0.5F / largest;
  }
  return of;
}

}  // namespace trainyard::runtime::reference

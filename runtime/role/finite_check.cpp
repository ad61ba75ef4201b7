#include "runtime/role/finite_check.h"

#include <cmath>
#include <string>

#include "runtime/math/wire/onebit.h"

namespace trainyard::runtime {

Status check_finite(const Task& task, const Contribution& contribution) {
  const auto refuse = [&](const std::string& what) {
    return task.cause.of(Reason::nan_loss, Status(invalid("the " + what + " of step " +
                                                          std::to_string(contribution.step) +
                                                          " is not a finite number")));
  };
  if (!std::isfinite(contribution.sums.loss_sum)) return refuse("loss");
  const bool exact = task.context.spec.training.wire.push == Wire::float32;
  if (!exact && !all_finite(contribution.gradient->span())) return refuse("gradient");
  return ok();
}

}  // namespace trainyard::runtime

#include "runtime/role/finite_check.h"

#include <cmath>
#include <string>

namespace trainyard::runtime {
namespace {

Status refuse(const Task& task, const std::string& what, std::int64_t step,
              const std::string& why = "") {
  const std::string of = "the " + what + " of step " + std::to_string(step);
  return task.cause.of(Reason::nan_loss, Status(invalid(of + " is not a finite number" + why)));
}

}  // namespace

Status check_loss(const Task& task, std::int64_t step, double loss_sum,
                  const std::function<std::string()>& why) {
  return std::isfinite(loss_sum) ? ok() : refuse(task, "loss", step, why());
}

Status check_gradient(const Task& task, std::int64_t step, bool is_finite) {
  return is_finite ? ok() : refuse(task, "gradient", step);
}

}  // namespace trainyard::runtime

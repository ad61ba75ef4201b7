// Why a task fails, in the words of Reason: recorded where the failing call is made, since only
// there is it known whether a missing file is bad data or a full disk.
#pragma once

#include <utility>

#include "schemas/base/result.h"
#include "schemas/types/reason.h"

namespace trainyard::runtime {

class FailureCause {
 public:
  // Passes the result on, and remembers `reason` if it is an error.
  template <class T>
  Result<T> of(Reason reason, Result<T> result) {
    if (!result.has_value()) reason_ = reason;
    return result;
  }

  [[nodiscard]] Reason reason() const { return reason_; }

 private:
  Reason reason_ = Reason::exit_nonzero;
};

}  // namespace trainyard::runtime

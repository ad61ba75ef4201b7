#include "runtime/ps/step_names.h"

#include <algorithm>
#include <string>

#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

StepNames::StepNames(const StepMembers& members, std::int64_t version)
    : members_(members),
      newest_{.step = version, .ranks = {}},
      reported_(index_of(members.ranks), version),
      late_(index_of(members.ranks)) {
  ENSURE(members_.aggregate >= 1 && members_.aggregate <= members_.ranks);
}

Result<std::optional<NamedStep>> StepNames::report(const Report& report) {
  TRY(check(report));
  wanted_ = std::max(wanted_, report.snapshot);
  holds_ = holds_ || report.holds;
  std::int64_t& reported = reported_[index_of(report.rank)];
  if (report.step > reported) {
    reported = report.step;
    if (report.step <= newest_.step) ++late_[index_of(report.rank)];
  }
  return name_next();
}

Status StepNames::check(const Report& report) const {
  if (report.rank < 0 || report.rank >= members_.ranks) return invalid("there is no such rank");
  const std::int64_t next = newest_.step + 1;
  if (report.step < 1 || report.step > next) {
    return invalid("step " + std::to_string(report.step) + " is reported where " +
                   std::to_string(next) + " is next");
  }
  const bool asks = report.snapshot != 0 || report.holds;
  if (asks && report.rank != 0) return invalid("only the chief asks for snapshots");
  if (report.snapshot < 0 || report.snapshot > next) {
    return invalid("snapshot " + std::to_string(report.snapshot) + " is asked for where step " +
                   std::to_string(next) + " is next");
  }
  return ok();
}

std::optional<NamedStep> StepNames::name_next() {
  if (holds_ && newest_.snapshot >= wanted_) return std::nullopt;
  NamedStep next{.step = newest_.step + 1, .ranks = {}, .snapshot = newest_.snapshot};
  for (std::int64_t rank = 0; rank < members_.ranks; ++rank) {
    if (reported_[index_of(rank)] == next.step) next.ranks.push_back(rank);
  }
  if (std::ssize(next.ranks) < members_.aggregate) return std::nullopt;
  if (wanted_ > next.snapshot) next.snapshot = next.step;
  newest_ = next;
  return next;
}

}  // namespace trainyard::runtime

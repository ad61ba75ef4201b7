#include "api/routes/spec_faults.h"

#include <algorithm>

namespace trainyard::api {

Problem problem_of_faults(const std::vector<Fault>& faults, const std::string& what) {
  const bool only_later = std::ranges::all_of(
      faults, [](const Fault& fault) { return fault.kind == FaultKind::not_yet; });
  const std::string count =
      faults.size() == 1 ? "1 fault" : std::to_string(faults.size()) + " faults";
  Problem problem{.status = only_later ? 501 : 422,
                  .code = only_later ? "not_available" : "invalid_spec",
                  .detail = only_later ? "the job asks for what this version cannot do yet"
                                       : what + " has " + count};
  for (const Fault& fault : faults) {
    problem.errors.push_back({.pointer = fault.pointer, .message = fault.message});
  }
  return problem;
}

}  // namespace trainyard::api

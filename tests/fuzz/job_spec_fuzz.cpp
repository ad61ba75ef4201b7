// A job spec that a user posts. One that is taken is read back from its long form as the same.
#include <variant>

#include "schemas/base/check.h"
#include "schemas/wire/job_spec_json.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = parse_job_spec(fuzz::text_of(data, size));
  if (const auto* faults = std::get_if<std::vector<Fault>>(&parsed)) ENSURE(!faults->empty());
  if (const auto* spec = std::get_if<JobSpec>(&parsed)) {
    const auto again = parse_job_spec(to_json(*spec));
    ENSURE(std::holds_alternative<JobSpec>(again));
    ENSURE(std::get<JobSpec>(again) == *spec);
  }
  static_cast<void>(parse_stored_job_spec(fuzz::text_of(data, size)));
  return 0;
}

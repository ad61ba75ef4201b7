#include "scheduler/loop/mint.h"

#include <sys/random.h>

#include <string>
#include <string_view>

#include "schemas/base/check.h"

namespace trainyard::scheduler {
namespace {

constexpr std::string_view alphabet =
    "0123456789abcdefghjkmnpqrstvwxyz";  // none looks like another

}  // namespace

std::uint64_t mint_seed() {
  std::uint64_t seed = 0;
  ENSURE(getrandom(&seed, sizeof seed, 0) == sizeof seed);  // small reads are never cut short
  return seed;
}

JobId mint_job_id() {
  std::uint64_t bits = mint_seed();
  std::string text = "j-";
  for (int i = 0; i < 10; ++i, bits >>= 5) text += alphabet[bits & 31];
  return JobId{text};
}

}  // namespace trainyard::scheduler

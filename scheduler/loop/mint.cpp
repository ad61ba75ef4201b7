#include "scheduler/loop/mint.h"

#include <random>
#include <string>
#include <string_view>

namespace trainyard::scheduler {
namespace {

constexpr std::string_view alphabet =
    "0123456789abcdefghjkmnpqrstvwxyz";  // none looks like another

}  // namespace

std::uint64_t mint_seed() {
  std::random_device system;  // the kernel's generator
  return (std::uint64_t{system()} << 32) | system();
}

JobId mint_job_id() {
  std::uint64_t bits = mint_seed();
  std::string text = "j-";
  for (int i = 0; i < 10; ++i, bits >>= 5) text += alphabet[bits & 31];
  return JobId{text};
}

}  // namespace trainyard::scheduler

#include "scheduler/loop/new_ids.h"

#include <sys/random.h>

#include <algorithm>

#include "schemas/base/check.h"

namespace trainyard::scheduler {
namespace {

constexpr std::string_view alphabet =
    "0123456789abcdefghjkmnpqrstvwxyz";  // none looks like another
constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr int folder_id_digits = 32;

}  // namespace

std::uint64_t new_seed() {
  std::uint64_t seed = 0;
  ENSURE(getrandom(&seed, sizeof seed, 0) == sizeof seed);  // small reads are never cut short
  return seed;
}

JobId new_job_id() {
  std::uint64_t bits = new_seed();
  std::string text = "j-";
  for (int i = 0; i < 10; ++i, bits >>= 5) text += alphabet[bits & 31];
  return JobId{text};
}

std::string new_folder_id() {
  std::string id;
  while (std::ssize(id) < folder_id_digits) {
    std::uint64_t bits = new_seed();
    for (int i = 0; i < 16; ++i, bits >>= 4) id += hex_digits[bits & 15];
  }
  return id;
}

bool is_folder_id(std::string_view text) {
  return std::ssize(text) == folder_id_digits && std::ranges::all_of(text, [](char digit) {
           return hex_digits.find(digit) != std::string_view::npos;
         });
}

}  // namespace trainyard::scheduler

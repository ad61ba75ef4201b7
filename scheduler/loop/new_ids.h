// Names and secrets that nobody can guess or meet twice: made at the edge, because the core has no
// chance in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/base/id.h"

namespace trainyard::scheduler {

JobId new_job_id();  // "j-" and 10 letters and digits: 50 random bits
std::uint64_t new_seed();
std::string new_folder_id();  // 32 hex digits
bool is_folder_id(std::string_view text);

}  // namespace trainyard::scheduler

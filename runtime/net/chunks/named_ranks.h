// Which ranks make a step, as a frame has it: a bit for each rank of the gang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/named_step.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// `named`: ascending.
std::string encode_ranks(std::span<const std::int64_t> named, std::int64_t ranks);
// Ascending. `invalid` where these are not just so many ranks of the gang.
Result<std::vector<std::int64_t>> decode_ranks(std::span<const std::byte> payload,
                                               const StepMembers& members);

}  // namespace trainyard::runtime

// What a run of the tests is asked for by hand.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace trainyard {

// A whole number in an environment variable; `otherwise` where it is not set.
inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace trainyard

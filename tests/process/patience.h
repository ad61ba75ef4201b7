// How long a test waits for what must come. Only a test that fails waits so long, so it is far more
// than what a slow machine needs that builds beside it, under a sanitizer, too.
#pragma once

#include <chrono>

namespace trainyard {

inline constexpr std::chrono::seconds patience{60};

}  // namespace trainyard

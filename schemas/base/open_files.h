// How many files and sockets this process may have open.
#pragma once

#include <cstdint>

namespace trainyard {

// Raises the soft limit as far as the hard one and 65,536 allow, and returns it.
std::uint64_t raise_open_files();

}  // namespace trainyard

// Memory for tensors that the network reads or writes, in pages as large as the system has.
#pragma once

#include <cstddef>

#include "runtime/math/aligned_buffer.h"

namespace trainyard::runtime {

// Zeros, as AlignedBuffer(elements) has, or std::bad_alloc. The system copies between sockets and
// small pages of 4 KiB more slowly: it looks up the place of each.
AlignedBuffer large_buffer(std::size_t elements);

}  // namespace trainyard::runtime

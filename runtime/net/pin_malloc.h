// How glibc's malloc is set up in a process that receives tensors.
#pragma once

namespace trainyard::runtime {

// gRPC receives into blocks of at most 64 KiB. Left to itself, malloc gives them back to the kernel
// after each message and has them zeroed again for the next: the largest single cost of receiving.
// Called once, first in main; an operator's own MALLOC_* settings are left alone. False when malloc
// refused.
bool pin_malloc();

}  // namespace trainyard::runtime

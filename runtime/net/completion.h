// A tag of a gRPC completion queue: what to do when the operation that carries it is done. `good`
// is the queue's word on whether it succeeded.
#pragma once

#include <functional>

namespace trainyard::runtime {

struct Completion {
  std::function<void(bool good)> done;
};

}  // namespace trainyard::runtime

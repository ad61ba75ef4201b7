#include "runtime/graph/grid/reduce_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct ReduceOps<HostGrid>;

}  // namespace trainyard::runtime

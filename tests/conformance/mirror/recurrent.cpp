#include "runtime/graph/grid/recurrent_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct RecurrentOps<HostGrid>;

}  // namespace trainyard::runtime

#include "runtime/graph/grid/in_batch_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct InBatchOps<HostGrid>;

}  // namespace trainyard::runtime

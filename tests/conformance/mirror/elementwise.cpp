#include "runtime/graph/grid/elementwise_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct ElementwiseOps<HostGrid>;

}  // namespace trainyard::runtime

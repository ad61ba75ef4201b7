#include "runtime/graph/grid/layout_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct LayoutOps<HostGrid>;

}  // namespace trainyard::runtime

#include "runtime/graph/grid/row_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct RowOps<HostGrid>;

}  // namespace trainyard::runtime

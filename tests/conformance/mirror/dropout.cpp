#include "runtime/graph/grid/dropout_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct DropoutOps<HostGrid>;

}  // namespace trainyard::runtime

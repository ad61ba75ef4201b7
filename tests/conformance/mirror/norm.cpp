#include "runtime/graph/grid/norm_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct NormOps<HostGrid>;

}  // namespace trainyard::runtime

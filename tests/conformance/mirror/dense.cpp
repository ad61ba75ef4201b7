#include "runtime/graph/grid/dense_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct DenseOps<HostGrid>;

}  // namespace trainyard::runtime

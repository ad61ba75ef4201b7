#include "runtime/graph/grid/loss_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct LossOps<HostGrid>;

}  // namespace trainyard::runtime

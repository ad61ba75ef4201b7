#include "runtime/graph/grid/metric_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct MetricOps<HostGrid>;

}  // namespace trainyard::runtime

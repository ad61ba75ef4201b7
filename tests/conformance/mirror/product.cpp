#include "runtime/graph/grid/product_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct ProductOps<HostGrid>;

}  // namespace trainyard::runtime

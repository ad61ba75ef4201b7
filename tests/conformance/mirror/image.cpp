#include "runtime/graph/grid/image_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct ImageOps<HostGrid>;

}  // namespace trainyard::runtime

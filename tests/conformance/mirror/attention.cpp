#include "runtime/graph/grid/attention_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct AttentionOps<HostGrid>;

}  // namespace trainyard::runtime

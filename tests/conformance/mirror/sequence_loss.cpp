#include "runtime/graph/grid/sequence_loss_impl.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {

template struct SequenceLossOps<HostGrid>;

}  // namespace trainyard::runtime

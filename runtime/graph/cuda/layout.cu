#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/layout_impl.h"

namespace trainyard::runtime {

template struct LayoutOps<CudaGrid>;

}  // namespace trainyard::runtime

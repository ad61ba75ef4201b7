#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/elementwise_impl.h"

namespace trainyard::runtime {

template struct ElementwiseOps<CudaGrid>;

}  // namespace trainyard::runtime

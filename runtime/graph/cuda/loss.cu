#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/loss_impl.h"

namespace trainyard::runtime {

template struct LossOps<CudaGrid>;

}  // namespace trainyard::runtime

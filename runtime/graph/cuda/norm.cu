#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/norm_impl.h"

namespace trainyard::runtime {

template struct NormOps<CudaGrid>;

}  // namespace trainyard::runtime

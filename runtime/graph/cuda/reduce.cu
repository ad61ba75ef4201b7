#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/reduce_impl.h"

namespace trainyard::runtime {

template struct ReduceOps<CudaGrid>;

}  // namespace trainyard::runtime

#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/dense_impl.h"

namespace trainyard::runtime {

template struct DenseOps<CudaGrid>;

}  // namespace trainyard::runtime

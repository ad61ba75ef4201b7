#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/in_batch_impl.h"

namespace trainyard::runtime {

template struct InBatchOps<CudaGrid>;

}  // namespace trainyard::runtime

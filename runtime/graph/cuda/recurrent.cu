#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/recurrent_impl.h"

namespace trainyard::runtime {

template struct RecurrentOps<CudaGrid>;

}  // namespace trainyard::runtime

#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/dropout_impl.h"

namespace trainyard::runtime {

template struct DropoutOps<CudaGrid>;

}  // namespace trainyard::runtime

#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/row_impl.h"

namespace trainyard::runtime {

template struct RowOps<CudaGrid>;

}  // namespace trainyard::runtime

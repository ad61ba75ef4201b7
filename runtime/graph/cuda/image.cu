#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/image_impl.h"

namespace trainyard::runtime {

template struct ImageOps<CudaGrid>;

}  // namespace trainyard::runtime

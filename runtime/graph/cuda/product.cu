#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/product_impl.h"

namespace trainyard::runtime {

template struct ProductOps<CudaGrid>;

}  // namespace trainyard::runtime

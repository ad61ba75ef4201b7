#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/attention_impl.h"

namespace trainyard::runtime {

template struct AttentionOps<CudaGrid>;

}  // namespace trainyard::runtime

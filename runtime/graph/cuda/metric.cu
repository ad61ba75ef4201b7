#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/metric_impl.h"

namespace trainyard::runtime {

template struct MetricOps<CudaGrid>;

}  // namespace trainyard::runtime

#include "runtime/graph/cuda/cuda_grid.h"
#include "runtime/graph/grid/sequence_loss_impl.h"

namespace trainyard::runtime {

template struct SequenceLossOps<CudaGrid>;

}  // namespace trainyard::runtime

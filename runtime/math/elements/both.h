// Functions of one element, which the loops of a CPU and the kernels of a GPU call: one source, so
// that both have the same bits. Plain IEEE operations; nothing here is contracted.
#pragma once

#ifdef __CUDACC__
#define TRAINYARD_BOTH __host__ __device__
#else
#define TRAINYARD_BOTH
#endif

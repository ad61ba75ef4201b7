// Marks functions that a CPU and the kernels of a GPU call.
#pragma once

#ifdef __CUDACC__
#define TRAINYARD_BOTH __host__ __device__
// Of a function without a name that a grid runs. Never both: nvcc calls those of several units
// through one place, which but one of them has filled.
#define TRAINYARD_KERNEL __device__
#else
#define TRAINYARD_BOTH
#define TRAINYARD_KERNEL
#endif

# What the GPU's code is compiled for, and how: by build.cmake and by tests/gpu. A part of the build id, as bits follow from
# it. Nothing is contracted, and there are no denormal numbers: the bits are those of the CPU (docs/decisions, 0022, 0025).
set(TRAINYARD_CUDA_ARCHITECTURES 80-real 90)  # and PTX of the last, for what is newer
set(TRAINYARD_CUDA_OPTIONS --extended-lambda --expt-relaxed-constexpr -fmad=false -ftz=true --diag-suppress=20011,554
    -Xcompiler=-march=x86-64-v3,-ffp-contract=off)

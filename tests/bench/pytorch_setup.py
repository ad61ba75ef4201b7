"""What every script here imports before torch: one thread, the BLAS kernels that fit the processor, which OpenBLAS does
not always recognise in a virtual machine, and no denormal numbers."""
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

with open("/proc/cpuinfo") as about:
    flags = set(next((line for line in about if line.startswith("flags")), "").split())
if "avx512vl" in flags:
    os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
elif "avx2" in flags:
    os.environ.setdefault("OPENBLAS_CORETYPE", "HASWELL")

import torch  # noqa: E402: after what it reads

torch.set_flush_denormal(True)  # as the runtime does; else it takes 1.6 times as long for a step of the CRNN

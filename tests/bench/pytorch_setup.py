"""What every script here imports before torch: how many threads there are (TRAINYARD_BENCH_THREADS, or one), the BLAS
kernels that fit the processor, which OpenBLAS does not always recognise in a virtual machine, and no denormal
numbers."""
import os

THREADS = int(os.environ.get("TRAINYARD_BENCH_THREADS", "1"))
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(THREADS)
if THREADS > 1:  # else a thread that waits keeps a core from those of OpenBLAS and of other programs
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

with open("/proc/cpuinfo") as about:
    flags = set(next((line for line in about if line.startswith("flags")), "").split())
# Whatever the environment says, by which PyTorch may be half as fast, and our ratio twice as high.
if "avx512vl" in flags:
    os.environ["OPENBLAS_CORETYPE"] = "SKYLAKEX"
elif "avx2" in flags:
    os.environ["OPENBLAS_CORETYPE"] = "HASWELL"
os.environ.pop("OPENBLAS_L2_SIZE", None)  # blocks for another cache than the processor has

import torch  # noqa: E402: after what it reads

torch.set_flush_denormal(True)  # as the runtime does; else it takes 1.6 times as long for a step of the CRNN

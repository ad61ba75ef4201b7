"""GFLOP/s of torch.matmul on the first GPU, in one line: a number for each ROWSxINxOUT of the arguments behind the
first, which is the precision: float32, tf32 or bfloat16. It fails where PyTorch sees no GPU."""
import sys
import time

import torch

if not torch.cuda.is_available():
    sys.exit("PyTorch sees no GPU")
precision = sys.argv[1]
torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
rates = []
for text in sys.argv[2:]:
    rows, inner, out = (int(side) for side in text.split("x"))
    x = (torch.rand(rows, inner, device="cuda") - 0.5).to(dtype)
    kernel = (torch.rand(inner, out, device="cuda") - 0.5).to(dtype)
    y = torch.empty(rows, out, device="cuda", dtype=dtype)
    flops = 2.0 * rows * inner * out
    times = int(min(200, max(1, 4e11 / flops)))
    taken = []
    torch.matmul(x, kernel, out=y)
    for _ in range(3):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(times):
            torch.matmul(x, kernel, out=y)
        torch.cuda.synchronize()
        taken.append((time.perf_counter() - begin) / times)
    rates.append(flops / sorted(taken)[1] * 1e-9)
print(" ".join(f"{rate:.6g}" for rate in rates))

#!/usr/bin/env python3
"""Makes arena_updates.json: PyTorch's numbers for decay of matrices alone, and running averages.

Run by hand (Debian: python3-torch, with OPENBLAS_NUM_THREADS=1); the file is committed.
"""
import torch
from torch import nn

from make_golden import numbers, write


def decay_case(name):
    """Ten steps of a kernel that decays and a bias that does not, laid one after another."""
    kernel, bias = (nn.Parameter(torch.randn(*shape)) for shape in ((6, 4), (4,)))
    decay = 0.05
    groups = [{"params": [kernel], "weight_decay": decay}, {"params": [bias], "weight_decay": 0.0}]
    optimizer = {"momentum": lambda: torch.optim.SGD(groups, lr=0.1, momentum=0.9),
                 "adamw": lambda: torch.optim.AdamW(groups, lr=0.1)}[name]()
    case = {"name": name, "weight_decay": decay, "kernel": kernel.numel(),
            "start": numbers(kernel) + numbers(bias), "gradients": [], "weights": []}
    for _ in range(10):
        kernel.grad, bias.grad = torch.randn(6, 4), torch.randn(4)
        case["gradients"].append(numbers(kernel.grad) + numbers(bias.grad))
        optimizer.step()
        case["weights"].append(numbers(kernel) + numbers(bias))
    return case


def averages_case(channels=5, examples=8, momentum=0.1):
    """Six steps of nn.BatchNorm2d, and the sums that a leaf of so many examples gives for each."""
    norm = nn.BatchNorm2d(channels, momentum=momentum)
    case = {"channels": channels, "momentum": momentum, "gradient_scale": 1 / examples,
            "start": numbers(norm.running_mean) + numbers(norm.running_var), "sums": [],
            "states": []}
    for _ in range(6):
        x = torch.randn(examples, channels, 3, 3) * 2 + 1
        norm(x)
        variance, mean = torch.var_mean(x, dim=(0, 2, 3), unbiased=True)
        case["sums"].append(numbers(examples * mean) + numbers(examples * variance))
        case["states"].append(numbers(norm.running_mean) + numbers(norm.running_var))
    return case


if __name__ == "__main__":
    torch.manual_seed(7)
    write("arena_updates.json", {"decay": [decay_case("momentum"), decay_case("adamw")],
                                 "averages": averages_case()})

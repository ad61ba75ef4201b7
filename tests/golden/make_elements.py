#!/usr/bin/env python3
"""Makes elements.json beside it: PyTorch's numbers for functions of elements, their sums over axes
and rows that are normalised.

Run by hand (Debian: python3-torch), as make_golden.py.
"""
import torch
from torch.nn import functional

from make_golden import numbers, write

ACTIVATIONS = {
    "relu": torch.relu,
    "leaky_relu": lambda x: functional.leaky_relu(x, float(torch.tensor(0.1).float())),
    "elu": lambda x: functional.elu(x, 1.5),
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softplus": lambda x: functional.softplus(x, threshold=40),
    "exp": torch.exp,
    "log": torch.log,
    "log1p": torch.log1p,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "abs": torch.abs,
}
OF_POSITIVE = ("log", "log1p", "sqrt")


def as_floats(values):
    """The nearest numbers that a float has: what a test reads is what was computed with."""
    return values.float().double()


def activation_case(name):
    x = torch.cat([torch.randn(20) * 3,
                   torch.tensor([-10.0, -5.5, -1.0, -1e-4, 1e-4, 0.3, 0.6, 0.7, 5.5, 10.0])])
    x = as_floats(x.abs() if name in OF_POSITIVE else x).requires_grad_()
    upstream = as_floats(torch.randn(x.numel()))
    y = ACTIVATIONS[name](x)
    y.backward(upstream)
    return {"name": name, "x": numbers(x), "upstream": numbers(upstream), "y": numbers(y),
            "x_gradient": numbers(x.grad)}


def main():
    torch.manual_seed(19)
    torch.set_default_dtype(torch.float64)
    write("elements.json", {"activations": [activation_case(name) for name in ACTIVATIONS]})


if __name__ == "__main__":
    main()

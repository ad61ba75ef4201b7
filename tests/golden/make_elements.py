#!/usr/bin/env python3
"""Makes elements.json beside it: PyTorch's numbers for functions of elements, their sums over axes
and rows that are normalised.

Run by hand (Debian: python3-torch), as make_golden.py.
"""
import zlib

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
    torch.manual_seed(zlib.crc32(name.encode()))  # the same numbers, whatever stands beside it
    x = torch.cat([torch.randn(20) * 3,
                   torch.tensor([-10.0, -5.5, -1.0, -1e-4, 1e-4, 0.3, 0.6, 0.7, 5.5, 10.0])])
    x = as_floats(x.abs() if name in OF_POSITIVE else x).requires_grad_()
    upstream = as_floats(torch.randn(x.numel()))
    y = ACTIVATIONS[name](x)
    y.backward(upstream)
    return {"name": name, "x": numbers(x), "upstream": numbers(upstream), "y": numbers(y),
            "x_gradient": numbers(x.grad)}


BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "max": torch.maximum,
    "min": torch.minimum,
}


def binary_case(op, a_shape, b_shape):
    a = as_floats(torch.randn(*a_shape)).requires_grad_()
    b = as_floats(torch.randn(*b_shape).abs() + 0.5).requires_grad_()
    y = BINARY[op](a, b)
    upstream = as_floats(torch.randn_like(y))
    y.backward(upstream)
    return {"op": op, "a_shape": list(a_shape), "b_shape": list(b_shape), "a": numbers(a),
            "b": numbers(b), "upstream": numbers(upstream), "y": numbers(y),
            "a_gradient": numbers(a.grad), "b_gradient": numbers(b.grad)}


REDUCTIONS = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}


def reduction_case(kind, shape, axes):
    x = as_floats(torch.randn(*shape)).requires_grad_()
    y = REDUCTIONS[kind](x, dim=axes)
    upstream = as_floats(torch.randn_like(y))
    y.backward(upstream)
    return {"kind": kind, "shape": list(shape), "axes": list(axes), "x": numbers(x),
            "upstream": numbers(upstream), "y": numbers(y), "x_gradient": numbers(x.grad)}


def row_case(function, rows, columns):
    x = as_floats(torch.randn(rows, columns) * 2).requires_grad_()
    y = function(x)
    upstream = as_floats(torch.randn_like(y))
    y.backward(upstream)
    return {"rows": rows, "columns": columns, "x": numbers(x), "upstream": numbers(upstream),
            "y": numbers(y), "x_gradient": numbers(x.grad)}


def clip_case():
    x = as_floats(torch.cat([torch.randn(20), torch.tensor([-0.5, 1.0])])).requires_grad_()
    upstream = as_floats(torch.randn(x.numel()))
    y = x.clamp(-0.5, 1.0)
    y.backward(upstream)
    return {"least": -0.5, "most": 1.0, "x": numbers(x), "upstream": numbers(upstream),
            "y": numbers(y), "x_gradient": numbers(x.grad)}


def product_case(transpose_a, transpose_b, matrices=2, rows=3, columns=4, depth=5):
    a_shape = (matrices, depth, rows) if transpose_a else (matrices, rows, depth)
    b_shape = (matrices, columns, depth) if transpose_b else (matrices, depth, columns)
    a = as_floats(torch.randn(*a_shape)).requires_grad_()
    b = as_floats(torch.randn(*b_shape)).requires_grad_()
    y = torch.bmm(a.mT if transpose_a else a, b.mT if transpose_b else b)
    upstream = as_floats(torch.randn_like(y))
    y.backward(upstream)
    return {"matrices": matrices, "rows": rows, "columns": columns, "depth": depth,
            "transpose_a": transpose_a, "transpose_b": transpose_b, "a": numbers(a),
            "b": numbers(b), "upstream": numbers(upstream), "y": numbers(y),
            "a_gradient": numbers(a.grad), "b_gradient": numbers(b.grad)}


def factorized(x):
    return 0.5 * (x.sum(1) ** 2 - (x ** 2).sum(1)).sum(1, keepdim=True)


def pairwise_dotted(x):
    """As DLRM's interact_features has it: the products below the diagonal, row by row."""
    products = torch.bmm(x, x.mT)
    one, other = torch.tril_indices(x.shape[1], x.shape[1], offset=-1)
    return products[:, one, other]


def fields_case(function, examples=3, fields=4, features=5):
    x = as_floats(torch.randn(examples, fields, features)).requires_grad_()
    y = function(x)
    upstream = as_floats(torch.randn_like(y))
    y.backward(upstream)
    return {"examples": examples, "fields": fields, "features": features, "x": numbers(x),
            "upstream": numbers(upstream), "y": numbers(y), "x_gradient": numbers(x.grad)}


def prelu_case(rows, channels):
    x = as_floats(torch.randn(rows, channels)).requires_grad_()
    slope = as_floats(torch.randn(channels)).requires_grad_()  # some of them below zero
    y = functional.prelu(x, slope)
    upstream = as_floats(torch.randn_like(y))
    y.backward(upstream)
    return {"rows": rows, "channels": channels, "x": numbers(x), "slope": numbers(slope),
            "upstream": numbers(upstream), "y": numbers(y), "x_gradient": numbers(x.grad),
            "slope_gradient": numbers(slope.grad)}


def main():
    torch.set_default_dtype(torch.float64)
    activations = [activation_case(name) for name in ACTIVATIONS]
    torch.manual_seed(19)
    write("elements.json", {
        "activations": activations,
        "binary": [binary_case(op, a, b) for op in BINARY
                   for a, b in (((2, 3, 5), (2, 3, 5)), ((2, 3, 5), (2, 1, 5)),
                                ((2, 3, 1), (2, 1, 4)))],
        "reductions": [reduction_case(kind, (3, 4, 5), axes) for kind in REDUCTIONS
                       for axes in ((1,), (2,), (1, 2), (0, 2))],
        "clip": clip_case(),
        "softmax": [row_case(lambda x: x.softmax(-1), 3, 7)],
        "log_softmax": [row_case(lambda x: x.log_softmax(-1), 3, 7)],
        "l2_normalize": [row_case(functional.normalize, 3, 7)],
        "matrix_products": [product_case(a, b) for a in (False, True) for b in (False, True)],
        "fm": fields_case(factorized),
        "pairwise_dot": fields_case(pairwise_dotted),
        "prelu": [prelu_case(7, 5), prelu_case(130, 3)]})


if __name__ == "__main__":
    main()

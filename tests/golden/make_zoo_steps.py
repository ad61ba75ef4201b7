#!/usr/bin/env python3
"""Makes zoo_steps.json beside it: one training step of the zoo's image models by PyTorch, in float64.

Run by hand (Debian: python3-torch), as make_golden.py. Parameters and images are made of a hash of
their place (tests/runtime/model/zoo_steps_test.cpp makes the same), in our layout: kernels are [in,
out] and [kernel height, kernel width, channels, filters], images [height, width, channels]. Of each
variable's gradient, and of what each running average is made of, there are the norm, the products
with three patterns and some elements: all of them would be hundreds of megabytes.
"""
import json
import math
import pathlib

import numpy
import torch
from torch.nn import functional

HERE = pathlib.Path(__file__).parent
BATCH = 3
SAMPLES = 8


def hashed(count, stream):
    """Numbers in [-0.5, 0.5)."""
    index = numpy.arange(count, dtype=numpy.uint64)
    bits = (index * numpy.uint64(2654435761) + numpy.uint64(stream * 40503 + 12345)) \
        & numpy.uint64(0xFFFFFFFF)
    bits = bits ^ (bits >> numpy.uint64(15))
    bits = (bits * numpy.uint64(2246822519)) & numpy.uint64(0xFFFFFFFF)
    bits = bits ^ (bits >> numpy.uint64(13))
    return bits.astype(numpy.float64) / 2.0 ** 32 - 0.5


def float32(values):
    return values.astype(numpy.float32).astype(numpy.float64)


class Net:
    """Makes the variables in the order of their layers, and remembers what batch norms saw."""

    def __init__(self, is_deep):
        self.variables = []  # in our layout
        self.states = []
        self.is_deep = is_deep

    def variable(self, shape, kind):
        count = math.prod(shape)
        values = hashed(count, len(self.variables))
        if kind == "kernel":
            values = values * math.sqrt(24.0 / (count / shape[-1]))
        elif kind == "scale":
            values = 0.3 + 0.1 * values if self.is_deep else 1 + 0.5 * values
        elif kind == "offset" and self.is_deep:
            # Far from relu's kink: in a deep network of float32 somebody falls on its other side.
            values = numpy.where(numpy.arange(count) % 4 == 3, -1.5, 1.5) + 0.2 * values
        else:
            values = 0.2 * values
        leaf = torch.tensor(float32(values).reshape(shape), requires_grad=True)
        self.variables.append(leaf)
        return leaf

    def conv(self, x, filters, kernel, stride=1, padding=0, bias=True):
        weights = self.variable([kernel, kernel, x.shape[1], filters], "kernel").permute(3, 2, 0, 1)
        offset = self.variable([filters], "bias") if bias else None
        return functional.conv2d(x, weights, offset, stride=stride, padding=padding)

    def norm(self, x):
        scale = self.variable([x.shape[1]], "scale")
        offset = self.variable([x.shape[1]], "offset")
        self.states.append(BATCH * x.detach().mean(dim=(0, 2, 3)))
        self.states.append(BATCH * x.detach().var(dim=(0, 2, 3), unbiased=True))
        return functional.batch_norm(x, None, None, scale, offset, training=True, eps=1e-5)

    def dense(self, x, units):
        weights = self.variable([x.shape[1], units], "kernel")
        return x @ weights + self.variable([units], "bias")


def flatten(x):
    """In our order: [height, width, channels]."""
    return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1)


def lenet5(net, x):
    x = functional.max_pool2d(torch.relu(net.conv(x, 6, 5, padding=2)), 2)
    x = functional.max_pool2d(torch.relu(net.conv(x, 16, 5)), 2)
    x = torch.relu(net.dense(flatten(x), 120))
    return net.dense(torch.relu(net.dense(x, 84)), 10)


def cifar_cnn(net, x):
    for filters in (32, 64):
        x = functional.max_pool2d(torch.relu(net.norm(net.conv(x, filters, 3, padding=1))), 2)
    return net.dense(torch.relu(net.dense(flatten(x), 256)), 10)


def vgg11(net, x):
    for width in [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"]:
        if width == "M":
            x = functional.max_pool2d(x, 2)
        else:
            x = torch.relu(net.conv(x, width, 3, padding=1))
    x = torch.relu(net.dense(flatten(x), 64))
    return net.dense(torch.relu(net.dense(x, 64)), 10)


def basic(net, x, width, stride):
    y = torch.relu(net.norm(net.conv(x, width, 3, stride, 1, bias=False)))
    y = net.norm(net.conv(y, width, 3, 1, 1, bias=False))
    if stride != 1 or x.shape[1] != width:
        x = net.norm(net.conv(x, width, 1, stride, bias=False))
    return torch.relu(y + x)


def bottleneck(net, x, width, stride):
    y = torch.relu(net.norm(net.conv(x, width, 1, bias=False)))
    y = torch.relu(net.norm(net.conv(y, width, 3, stride, 1, bias=False)))
    y = net.norm(net.conv(y, 4 * width, 1, bias=False))
    if stride != 1 or x.shape[1] != 4 * width:
        x = net.norm(net.conv(x, 4 * width, 1, stride, bias=False))
    return torch.relu(y + x)


def resnet(block, depths, stem):
    def run(net, x):
        if stem == "imagenet":
            x = torch.relu(net.norm(net.conv(x, 64, 7, 2, 3, bias=False)))
            x = functional.max_pool2d(x, 3, 2, 1)
        else:
            x = torch.relu(net.norm(net.conv(x, 64, 3, 1, 1, bias=False)))
        for stage, depth in enumerate(depths):
            for i in range(depth):
                x = block(net, x, 64 << stage, 2 if stage > 0 and i == 0 else 1)
        return net.dense(x.mean(dim=(2, 3)), 10)
    return run


def described(values, stream):
    flat = values.detach().reshape(-1).numpy()
    every = max(1, len(flat) // SAMPLES)
    return {"elements": len(flat), "norm": float(numpy.linalg.norm(flat)),
            "largest": float(numpy.abs(flat).max()),
            "products": [float(flat @ hashed(len(flat), 1000 + 3 * stream + i)) for i in range(3)],
            "samples": flat[::every][:SAMPLES].tolist(), "every": every}


CASES = [
    ({"name": "lenet5"}, [28, 28, 1], 0, lenet5),
    ({"name": "cifar_cnn", "dropout": 0}, [16, 16, 3], 0.1, cifar_cnn),
    ({"name": "vgg11", "dropout": 0, "units": 64}, [32, 32, 3], 0, vgg11),
    ({"name": "resnet18", "stem": "cifar"}, [16, 16, 3], 0, resnet(basic, (2, 2, 2, 2), "cifar")),
    ({"name": "resnet34"}, [64, 64, 3], 0, resnet(basic, (3, 4, 6, 3), "imagenet")),
    ({"name": "resnet50"}, [64, 64, 3], 0, resnet(bottleneck, (3, 4, 6, 3), "imagenet")),
]


def step(model, image, smoothing, run):
    net = Net(is_deep=model["name"] in ("resnet34", "resnet50"))
    pixels = float32(2 * hashed(BATCH * math.prod(image), 999))
    x = torch.tensor(pixels.reshape([BATCH, *image])).permute(0, 3, 1, 2)
    labels = torch.tensor([(7 * i + 3) % 10 for i in range(BATCH)])
    losses = functional.cross_entropy(run(net, x), labels, reduction="none",
                                      label_smoothing=smoothing)
    losses.sum().backward()
    gradients = [leaf.grad for leaf in net.variables] + net.states
    return {"model": model, "image": image, "losses": losses.tolist(),
            "gradients": [described(values, i) for i, values in enumerate(gradients)]}


def main():
    torch.set_default_dtype(torch.float64)
    lines = [json.dumps(step(*case)) for case in CASES]
    (HERE / "zoo_steps.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()

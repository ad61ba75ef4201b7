#!/usr/bin/env python3
"""Makes gpt_steps.json beside it: one training step of the zoo's transformers by PyTorch, in float64.

Run by hand (Debian: python3-torch; gpt2_small takes 5 GB and a minute), as make_golden.py. Parameters are made of a hash of
their place (tests/runtime/model/gpt_steps_test.cpp makes the same), and gradients are described as in make_zoo_steps.py.
"""
import json
import math
import pathlib

import torch
from torch.nn import functional

from make_zoo_steps import described, float32, hashed

HERE = pathlib.Path(__file__).parent
CLASSES = 5


class Net:
    """Makes the variables in the order of their layers."""

    def __init__(self, heads):
        self.heads = heads
        self.variables = []

    def variable(self, shape, factor, around=0.0):
        values = around + factor * hashed(math.prod(shape), len(self.variables))
        leaf = torch.tensor(float32(values).reshape(shape), requires_grad=True)
        self.variables.append(leaf)
        return leaf

    def dense(self, x, units):
        kernel = self.variable([x.shape[-1], units], math.sqrt(12.0 / x.shape[-1]))
        return x @ kernel + self.variable([units], 0.2)

    def norm(self, x):
        scale = self.variable([x.shape[-1]], 0.5, around=1.0)
        return functional.layer_norm(x, (x.shape[-1],), scale, self.variable([x.shape[-1]], 0.2), 1e-5)

    def attention(self, x, is_causal):
        batch, time, width = x.shape
        parts = self.dense(x, 3 * width).split(width, dim=2)
        q, k, v = (part.reshape(batch, time, self.heads, -1).transpose(1, 2) for part in parts)
        scores = q @ k.transpose(2, 3) / math.sqrt(width // self.heads)
        if is_causal:
            unseen = torch.ones(time, time, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(unseen, -math.inf)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape)
        return self.dense(mixed, width)

    def blocks(self, x, depth, is_causal):
        for _ in range(depth):
            x = self.attention(self.norm(x), is_causal) + x
            y = functional.gelu(self.dense(self.norm(x), 4 * x.shape[-1]), approximate="tanh")
            x = self.dense(y, x.shape[-1]) + x
        return self.norm(x)


def step(model, time, vocabulary, lengths):
    is_classifier = model["name"] == "transformer_classifier"
    net = Net(model["heads"])
    batch = len(lengths)
    ids = torch.tensor([[(7 * i * i + 11 * i + 3 * b) % (vocabulary - 1) + 1 for i in range(time)] for b in range(batch)])
    table = net.variable([vocabulary, model["width"]], 1.0)
    x = table[ids] + net.variable([time, model["width"]], 0.5)
    x = net.blocks(x, model["depth"], not is_classifier)
    if is_classifier:
        labels = torch.tensor([(3 * b + 1) % CLASSES for b in range(batch)])
        losses = functional.cross_entropy(net.dense(x.mean(dim=1), CLASSES), labels, reduction="none")
    else:
        scores = x @ table.T
        labels = ids.roll(-1, dims=1)
        losses = torch.stack([functional.cross_entropy(scores[b, :n], labels[b, :n], reduction="sum")
                              for b, n in enumerate(lengths)])
    losses.sum().backward()
    return {"model": model, "time": time, "vocabulary": vocabulary, "lengths": lengths, "losses": losses.tolist(),
            "gradients": [described(leaf.grad, i) for i, leaf in enumerate(net.variables)]}


CASES = [
    ({"name": "gpt", "dropout": 0, "width": 24, "heads": 3, "depth": 3}, 9, 31, [9, 5, 1]),
    ({"name": "transformer_classifier", "dropout": 0, "width": 24, "heads": 3, "depth": 2}, 9, 31, [9, 9]),
    ({"name": "gpt2_small", "dropout": 0, "width": 768, "heads": 12, "depth": 12}, 24, 50257, [24]),
]


def main():
    torch.set_default_dtype(torch.float64)
    lines = [json.dumps(step(*case)) for case in CASES]
    (HERE / "gpt_steps.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()

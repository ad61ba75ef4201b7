#!/usr/bin/env python3
"""Makes transformers.json beside it: a training step of small transformers by PyTorch, in float64.

Run by hand (Debian: python3-torch), as make_golden.py. Models are in the model language and read
features [time, size], or ids [time] whose labels are those of tokens; all parameters, losses and gradients are in the file, kernels as [in, out].
"""
import json
import math
import pathlib

import torch
from torch.nn import functional

HERE = pathlib.Path(__file__).parent
BATCH, TIME, SIZE, CLASSES = 3, 6, 5, 4
WIDTH, HEADS, MLP, DEPTH = 8, 2, 16, 2
VOCABULARY = 11


class Net:
    """Makes the variables in the order of their layers."""

    def __init__(self):
        self.variables = []

    def variable(self, *shape, around=0.0, scale=0.3):
        values = (around + scale * torch.randn(*shape)).float().double().requires_grad_()
        self.variables.append(values)
        return values

    def dense(self, x, units, bias=True):
        kernel = self.variable(x.shape[-1], units, scale=1 / math.sqrt(x.shape[-1]))
        return x @ kernel + (self.variable(units) if bias else 0)

    def layer_norm(self, x):
        scale = self.variable(x.shape[-1], around=1.0)
        return functional.layer_norm(x, (x.shape[-1],), scale, self.variable(x.shape[-1]), 1e-5)

    def rms_norm(self, x):
        scale = self.variable(x.shape[-1], around=1.0)
        return x / torch.sqrt(x.square().mean(-1, keepdim=True) + 1e-5) * scale


def by_heads(x):
    return x.reshape(BATCH, TIME, HEADS, WIDTH // HEADS).transpose(1, 2)


def attend(q, k, v, causal):
    scores = by_heads(q) @ by_heads(k).transpose(2, 3) / math.sqrt(WIDTH // HEADS)
    if causal:
        scores = scores.masked_fill(torch.ones(TIME, TIME, dtype=torch.bool).triu(1), -math.inf)
    return (scores.softmax(-1) @ by_heads(v)).transpose(1, 2).reshape(q.shape)


def rope(x, theta=10000):
    pairs = WIDTH // HEADS // 2
    angle = torch.outer(torch.arange(TIME, dtype=torch.float64),
                        theta ** (-torch.arange(pairs, dtype=torch.float64) / pairs))
    turn = torch.polar(torch.ones_like(angle), angle)[None, :, None, :]
    as_complex = torch.view_as_complex(x.reshape(BATCH, TIME, HEADS, pairs, 2))
    return torch.view_as_real(as_complex * turn).reshape(x.shape)


def classifier(net, x):
    x = net.dense(x, WIDTH)
    x = x + net.variable(TIME, WIDTH)
    for _ in range(DEPTH):
        q, k, v = net.dense(net.layer_norm(x), 3 * WIDTH).split(WIDTH, dim=2)
        x = net.dense(attend(q, k, v, causal=False), WIDTH) + x
        y = functional.gelu(net.dense(net.layer_norm(x), MLP), approximate="tanh")
        x = net.dense(y, WIDTH) + x
    return net.dense(net.layer_norm(x).mean(dim=1), CLASSES)


def rotary(net, x):
    x = net.dense(x, WIDTH)
    for _ in range(DEPTH):
        normed = net.rms_norm(x)
        q, k, v = (net.dense(normed, WIDTH, bias=False) for _ in range(3))
        x = net.dense(attend(rope(q), rope(k), v, causal=True), WIDTH) + x
        x = net.dense(functional.gelu(net.dense(net.rms_norm(x), MLP)), WIDTH) + x
    return net.dense(net.rms_norm(x).reshape(BATCH, -1), CLASSES)


def gpt(net, ids):
    table = net.variable(VOCABULARY, WIDTH)
    x = table[ids] + net.variable(TIME, WIDTH)
    for _ in range(DEPTH):
        q, k, v = net.dense(net.layer_norm(x), 3 * WIDTH).split(WIDTH, dim=2)
        x = net.dense(attend(q, k, v, causal=True), WIDTH) + x
        y = functional.gelu(net.dense(net.layer_norm(x), 4 * WIDTH), approximate="tanh")
        x = net.dense(y, WIDTH) + x
    return net.layer_norm(x) @ table.T


def stack(attending, thinking, ends, first):
    return {"define": {"d": WIDTH, "heads": HEADS, "mlp": MLP},
            "layers": [{"op": "reshape", "shape": [TIME, SIZE]}, {"op": "dense", "units": "$d"},
                       *first,
                       {"repeat": DEPTH, "name": "h",
                        "layers": [{"residual": attending}, {"residual": thinking}]},
                       *ends, {"op": "dense", "units": "classes"}],
            "loss": "softmax_cross_entropy", "metrics": ["accuracy"]}


def thinking(norm, activation):
    return [norm, {"op": "dense", "units": "$mlp", "activation": activation},
            {"op": "dense", "units": "$d"}]


def gpt_model():
    attending = ["layer_norm", {"op": "attention", "heads": "$heads", "causal": True}]
    return {"define": {"d": WIDTH, "heads": HEADS, "mlp": 4 * WIDTH},
            "layers": [{"op": "embedding", "name": "wte", "size": "$d"},
                       {"op": "positions", "name": "wpe"},
                       {"repeat": DEPTH, "name": "h",
                        "layers": [{"residual": attending},
                                   {"residual": thinking("layer_norm", "gelu_tanh")}]},
                       "layer_norm",
                       {"op": "dense", "units": "vocabulary", "bias": False, "tie": "wte"}],
            "loss": {"op": "softmax_cross_entropy", "per": "token"},
            "metrics": ["perplexity", "accuracy"]}


def rotated_attention():
    kernels = [{"op": "dense", "units": "$d", "bias": False, "in": "n", "name": name}
               for name in ("q", "k", "v")]
    ropes = [{"op": "rope", "heads": "$heads", "in": name, "name": name + "_turned"}
             for name in ("q", "k")]
    return [{"op": "rms_norm", "name": "n"}, *kernels, *ropes,
            {"op": "sdpa", "heads": "$heads", "causal": True, "in": ["q_turned", "k_turned", "v"]},
            {"op": "dense", "units": "$d"}]


CASES = [
    (stack(["layer_norm", {"op": "attention", "heads": "$heads"}],
           thinking("layer_norm", "gelu_tanh"),
           ["layer_norm", {"op": "reduce", "kind": "mean", "axes": [0]}], ["positions"]),
     classifier),
    (stack(rotated_attention(), thinking("rms_norm", "gelu"), ["rms_norm", "flatten"], []),
     rotary),
]


def numbers(values):
    return [float(f"{value:.9g}") for value in values.detach().flatten().tolist()]


def step(model, run):
    net = Net()
    x = torch.randn(BATCH, TIME, SIZE).float().double()
    labels = torch.tensor([(3 * i + 1) % CLASSES for i in range(BATCH)])
    losses = functional.cross_entropy(run(net, x), labels, reduction="none")
    losses.sum().backward()
    return {"model": model, "example": [TIME, SIZE], "classes": CLASSES, "x": numbers(x),
            "labels": labels.tolist(), "losses": numbers(losses),
            "variables": [numbers(values) for values in net.variables],
            "gradients": [numbers(values.grad) for values in net.variables]}


def token_step():
    """Of gpt: losses are sums over the tokens of an example, and the last tokens of one are padding."""
    net = Net()
    ids = torch.randint(0, VOCABULARY, (BATCH, TIME))
    labels = torch.randint(0, VOCABULARY, (BATCH, TIME))
    lengths = [TIME, TIME - 2, TIME]
    scores = gpt(net, ids)
    losses = torch.stack([functional.cross_entropy(scores[i, :n], labels[i, :n], reduction="sum")
                          for i, n in enumerate(lengths)])
    right = [int((scores[i, :n].argmax(1) == labels[i, :n]).sum()) for i, n in enumerate(lengths)]
    losses.sum().backward()
    return {"model": gpt_model(), "example": [TIME], "vocabulary": VOCABULARY, "ids": ids.flatten().tolist(),
            "labels": labels.flatten().tolist(), "lengths": lengths, "losses": numbers(losses),
            "right": right, "variables": [numbers(values) for values in net.variables],
            "gradients": [numbers(values.grad) for values in net.variables]}


def main():
    torch.manual_seed(17)
    torch.set_default_dtype(torch.float64)
    lines = [json.dumps(step(*case), separators=(",", ":")) for case in CASES]
    (HERE / "transformers.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    (HERE / "gpt.json").write_text(json.dumps(token_step(), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()

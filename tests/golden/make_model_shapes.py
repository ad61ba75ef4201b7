#!/usr/bin/env python3
"""Makes model_shapes.json beside it: what PyTorch's modules give for layers with random settings.

Run by hand (Debian: python3-torch) when an op changes; the file is committed, so that tests need no
PyTorch. A case has a layer as the model language writes it, the shape of its input, and either the
shape of its output with the number of its parameters, or null where PyTorch refuses the setting.
PyTorch has channels first, the language has them last; a recurrent layer's second bias is left out,
but for that of a GRU's new gate.
"""
import json
import pathlib
import random

import torch
from torch import nn

HERE = pathlib.Path(__file__).parent
RANDOM = random.Random(18)
CASES = []


def pair(least, most):
    """A number, or one for each axis."""
    if RANDOM.random() < 0.5:
        return RANDOM.randint(least, most)
    return [RANDOM.randint(least, most), RANDOM.randint(least, most)]


def torch_pair(value):
    return tuple(value) if isinstance(value, list) else value


def record(layer, shape, module, first, last, leave_out=0):
    """`first` and `last`: of the axes, how the module has them and how the language does."""
    try:
        with torch.no_grad():
            value = module()(torch.zeros([1] + [shape[axis] for axis in first]))
    except (RuntimeError, ValueError):
        CASES.append({"layer": layer, "input": shape, "output": None})
        return
    sizes = list(value.shape)[1:]
    parameters = sum(parameter.numel() for parameter in module().parameters())
    CASES.append({"layer": layer, "input": shape, "output": [sizes[axis] for axis in last],
                  "parameters": parameters - leave_out})


def convolutions(count):
    for _ in range(count):
        shape = [RANDOM.randint(1, 40), RANDOM.randint(1, 40), RANDOM.randint(1, 8)]
        layer = {"op": "conv2d", "filters": RANDOM.randint(1, 16), "kernel": pair(1, 7)}
        settings = {}
        if RANDOM.random() < 0.25:
            layer["padding"] = settings["padding"] = "same"
        else:
            if RANDOM.random() < 0.6:
                layer["stride"] = pair(1, 4)
                settings["stride"] = torch_pair(layer["stride"])
            if RANDOM.random() < 0.6:
                layer["padding"] = pair(0, 4)
                settings["padding"] = torch_pair(layer["padding"])
        if RANDOM.random() < 0.3:
            layer["dilation"] = pair(1, 3)
            settings["dilation"] = torch_pair(layer["dilation"])
        if RANDOM.random() < 0.3:
            layer["bias"] = settings["bias"] = False
        kernel, filters = torch_pair(layer["kernel"]), layer["filters"]
        if RANDOM.random() < 0.3:
            multiplier = RANDOM.randint(1, 3)
            layer["op"] = "depthwise_conv2d"
            layer["multiplier"] = multiplier
            del layer["filters"]
            settings["groups"] = shape[2]
            filters = shape[2] * multiplier
        record(layer, shape, lambda: nn.Conv2d(shape[2], filters, kernel, **settings),
               [2, 0, 1], [1, 2, 0])


def sequences_of_convolutions(count):
    for _ in range(count):
        shape = [RANDOM.randint(1, 40), RANDOM.randint(1, 8)]
        layer = {"op": "conv1d", "filters": RANDOM.randint(1, 16), "kernel": RANDOM.randint(1, 9),
                 "stride": RANDOM.randint(1, 4), "padding": RANDOM.randint(0, 4),
                 "dilation": RANDOM.randint(1, 3)}
        record(layer, shape,
               lambda: nn.Conv1d(shape[1], layer["filters"], layer["kernel"],
                                 stride=layer["stride"], padding=layer["padding"],
                                 dilation=layer["dilation"]), [1, 0], [1, 0])


def pools(count):
    for _ in range(count):
        shape = [RANDOM.randint(1, 30), RANDOM.randint(1, 30), RANDOM.randint(1, 4)]
        layer = {"op": RANDOM.choice(["max_pool2d", "avg_pool2d"]), "size": pair(1, 5)}
        settings = {}
        if RANDOM.random() < 0.6:
            layer["stride"] = pair(1, 4)
            settings["stride"] = torch_pair(layer["stride"])
        if RANDOM.random() < 0.6:
            layer["padding"] = pair(0, 3)
            settings["padding"] = torch_pair(layer["padding"])
        made = nn.MaxPool2d if layer["op"] == "max_pool2d" else nn.AvgPool2d
        record(layer, shape, lambda: made(torch_pair(layer["size"]), **settings),
               [2, 0, 1], [1, 2, 0])


class Recurrent(nn.Module):
    def __init__(self, made, features, layer):
        super().__init__()
        self.all = layer["output"] == "all"
        self.cell = made(features, layer["units"], batch_first=True,
                         bidirectional=layer["direction"] == "both")

    def forward(self, value):
        steps = self.cell(value)[0]
        return steps if self.all else steps[:, -1]


def recurrences(count):
    for _ in range(count):
        shape = [RANDOM.randint(1, 20), RANDOM.randint(1, 12)]
        name, made, biases = RANDOM.choice([("lstm", nn.LSTM, 4), ("gru", nn.GRU, 2),
                                            ("rnn", nn.RNN, 1)])
        layer = {"op": name, "units": RANDOM.randint(1, 12),
                 "direction": RANDOM.choice(["forward", "backward", "both"]),
                 "output": RANDOM.choice(["last", "all"])}
        directions = 2 if layer["direction"] == "both" else 1
        last = [0, 1] if layer["output"] == "all" else [0]
        record(layer, shape, lambda: Recurrent(made, shape[1], layer), [0, 1], last,
               leave_out=biases * layer["units"] * directions)


def rows(count):
    for _ in range(count):
        shape = [RANDOM.randint(1, 12) for _ in range(RANDOM.randint(1, 4))]
        axes = list(range(len(shape)))
        units = RANDOM.randint(1, 30)
        bias = RANDOM.random() < 0.5
        kind = RANDOM.choice(["dense", "layer_norm", "softmax", "flatten", "transpose", "reduce"])
        if kind == "dense":
            record({"op": "dense", "units": units, "bias": bias}, shape,
                   lambda: nn.Linear(shape[-1], units, bias=bias), axes, axes)
        elif kind == "layer_norm":
            record({"op": "layer_norm"}, shape, lambda: nn.LayerNorm(shape[-1]), axes, axes)
        elif kind == "softmax":
            record({"op": "softmax"}, shape, lambda: nn.Softmax(-1), axes, axes)
        elif kind == "flatten":
            record({"op": "flatten"}, shape, nn.Flatten, axes, [0])
        elif kind == "transpose":
            order = RANDOM.sample(axes, len(axes))
            record({"op": "transpose", "axes": order}, shape, nn.Identity, axes, order)
        else:
            gone = sorted(RANDOM.sample(axes, RANDOM.randint(1, len(axes))))
            kept = [axis for axis in axes if axis not in gone]
            record({"op": "reduce", "kind": "mean", "axes": gone}, shape, nn.Identity, axes, kept)


def slopes(count):
    for _ in range(count):
        shape = [RANDOM.randint(1, 12) for _ in range(RANDOM.randint(1, 3))]
        places = list(range(len(shape) - 1))
        record({"op": "prelu"}, shape, lambda: nn.PReLU(shape[-1]), [len(places)] + places,
               [axis + 1 for axis in places] + [0])


convolutions(240)
sequences_of_convolutions(60)
pools(120)
recurrences(60)
rows(80)
slopes(12)
text = ",\n".join(json.dumps(case, separators=(",", ":")) for case in CASES)
(HERE / "model_shapes.json").write_text("[\n" + text + "\n]\n")
print(len(CASES), "cases,", sum(case["output"] is None for case in CASES), "refused")

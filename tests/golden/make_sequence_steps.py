#!/usr/bin/env python3
"""Makes sequence_steps.json beside it: one training step of the zoo's recurrent models by PyTorch.

In float64. Run by hand (Debian: python3-torch), as make_zoo_steps.py, whose hash and patterns it
has. Of PyTorch's two biases the second is zero, but for the new gate of a GRU.
"""
import json
import math

import torch
from torch import _VF
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from make_zoo_steps import HERE, Net, described, float32, hashed

VOCABULARY, TIME, LENGTHS = 50, 7, [7, 1, 4]
IMAGE, SYMBOLS, TEXTS = [16, 24, 1], 6, [[1, 5, 5], [], [2, 3, 1]]


class Recurrent(Net):
    """Variables of recurrent layers in our layout and order."""

    def direction(self, cell, width, units):
        gates = {"lstm": 4, "gru": 3}[cell] * units
        kernel = self.variable([width, gates], "kernel")
        recurrent = self.variable([units, gates], "kernel")
        bias = self.variable([gates], "bias")
        second = torch.zeros(gates)
        if cell == "gru":
            second = torch.cat([torch.zeros(2 * units), self.variable([units], "bias")])
        return [kernel.T, recurrent.T, bias, second]

    def recurrence(self, x, cell, units, direction, lengths):
        """All states [examples, time, ..], and the last ones."""
        both = direction == "both"
        weights = self.direction(cell, x.shape[2], units)
        if both:
            weights += self.direction(cell, x.shape[2], units)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        start = torch.zeros(2 if both else 1, x.shape[0], units)
        if cell == "lstm":
            data, last, _ = _VF.lstm(packed.data, packed.batch_sizes, (start, start), weights, True,
                                     1, 0.0, True, both)
        else:
            data, last = _VF.gru(packed.data, packed.batch_sizes, start, weights, True, 1, 0.0,
                                 True, both)
        states, _ = pad_packed_sequence(
            PackedSequence(data, packed.batch_sizes, packed.sorted_indices,
                           packed.unsorted_indices), batch_first=True, total_length=x.shape[1])
        last = last.index_select(1, packed.unsorted_indices)
        return states, torch.cat(list(last), dim=1)


def classifier(net, model):
    ids = torch.tensor([(11 * i * i + 5 * i) % VOCABULARY for i in range(len(LENGTHS) * TIME)])
    table = net.variable([VOCABULARY, model["embedding_size"]], "kernel")
    x = functional.embedding(ids.reshape(len(LENGTHS), TIME), table)
    cell = model["name"].split("_")[0]
    for _ in range(model["depth"]):
        x, last = net.recurrence(x, cell, model["units"], model["direction"], LENGTHS)
    labels = torch.tensor([(7 * i + 3) % 10 for i in range(len(LENGTHS))])
    return functional.cross_entropy(net.dense(last, 10), labels, reduction="none")


def crnn(net, model):
    pixels = float32(2 * hashed(len(TEXTS) * math.prod(IMAGE), 999))
    x = torch.tensor(pixels.reshape([len(TEXTS), *IMAGE])).permute(0, 3, 1, 2)
    for filters, size in ((32, 2), (64, 2), (128, (2, 1))):
        x = functional.max_pool2d(torch.relu(net.conv(x, filters, 3, padding=1)), size)
    x = x.permute(0, 3, 2, 1).reshape(x.shape[0], x.shape[3], -1)  # [width, height * channels]
    time = x.shape[1]
    x, _ = net.recurrence(x, "lstm", model["units"], "both", [time] * len(TEXTS))
    kernel = net.variable([x.shape[2], SYMBOLS], "kernel")
    scores = x @ kernel + net.variable([SYMBOLS], "bias")
    flat = torch.tensor([symbol for text in TEXTS for symbol in text])
    return functional.ctc_loss(functional.log_softmax(scores, 2).transpose(0, 1), flat,
                               torch.tensor([time] * len(TEXTS)),
                               torch.tensor([len(text) for text in TEXTS]), reduction="none")


CASES = [
    ({"name": "lstm_classifier", "embedding_size": 12, "units": 9, "depth": 2, "direction": "both",
      "dropout": 0, "embedding_dropout": 0}, classifier),
    ({"name": "gru_classifier", "embedding_size": 8, "units": 11, "depth": 1,
      "direction": "forward", "dropout": 0, "embedding_dropout": 0}, classifier),
    ({"name": "gru_classifier", "embedding_size": 5, "units": 6, "depth": 2, "direction": "both",
      "dropout": 0, "embedding_dropout": 0}, classifier),
    ({"name": "crnn", "units": 16}, crnn),
]


def step(model, run):
    net = Recurrent(is_deep=False)
    losses = run(net, model)
    losses.sum().backward()
    return {"model": model, "losses": losses.tolist(),
            "gradients": [described(leaf.grad, i) for i, leaf in enumerate(net.variables)]}


def main():
    torch.set_default_dtype(torch.float64)
    lines = [json.dumps(step(*case)) for case in CASES]
    (HERE / "sequence_steps.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()

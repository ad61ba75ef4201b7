#!/usr/bin/env python3
"""Makes recommenders.json beside it: one training step of the zoo's recommenders by PyTorch, in
float64, and the loss of two towers alone.

Run by hand (Debian: python3-torch), as make_golden.py. Parameters and rows are made of a hash of
their place (tests/runtime/model/recommenders_test.cpp makes the same), in our layout: kernels are
[in, out]; the rows of a table have the columns of the layers that read the same field, side by
side.
"""
import json
import pathlib

import numpy
import torch
from torch.nn import functional

HERE = pathlib.Path(__file__).parent
EXAMPLES = 6
IDS = 9


def hashed(count, stream):
    """Numbers in [-0.5, 0.5)."""
    index = numpy.arange(count, dtype=numpy.uint64)
    bits = (index * numpy.uint64(2654435761) + numpy.uint64(stream * 40503 + 12345)) \
        & numpy.uint64(0xFFFFFFFF)
    bits = bits ^ (bits >> numpy.uint64(15))
    bits = (bits * numpy.uint64(2246822519)) & numpy.uint64(0xFFFFFFFF)
    bits = bits ^ (bits >> numpy.uint64(13))
    return bits.astype(numpy.float64) / 2.0 ** 32 - 0.5


def leaf_of(values, shape):
    rounded = values.astype(numpy.float32).astype(numpy.float64)
    return torch.tensor(rounded.reshape(shape), requires_grad=True)


class Net:
    """Makes the variables in the order of their layers."""

    def __init__(self):
        self.variables = []
        self.tables = []

    def dense(self, x, units):
        kernel = leaf_of(hashed(x.shape[1] * units, len(self.variables)) * 2, [x.shape[1], units])
        self.variables.append(kernel)
        bias = leaf_of(hashed(units, len(self.variables)) * 0.2, [units])
        self.variables.append(bias)
        return x @ kernel + bias

    def table(self, width):
        rows = leaf_of(hashed(IDS * width, 500 + len(self.tables)), [IDS, width])
        self.tables.append(rows)
        return rows


def click_losses(scores):
    labels = torch.tensor([float(i % 2) for i in range(EXAMPLES)])
    return functional.binary_cross_entropy_with_logits(scores.reshape(-1), labels, reduction="none")


def deepfm(net, ids, numbers):
    n = torch.log1p(torch.relu(numbers))
    found = net.table(5)[ids]
    v, w = found[:, :, :4], found[:, :, 4]
    pairs = (v.sum(1) ** 2 - (v ** 2).sum(1)).sum(1) / 2
    x = torch.cat([v.reshape(EXAMPLES, -1), n], 1)
    for width in (8, 6):
        x = torch.relu(net.dense(x, width))
    return click_losses(w.sum(1) + pairs + net.dense(x, 1).reshape(-1))


def dlrm(net, ids, numbers):
    x = torch.relu(net.dense(torch.log1p(torch.relu(numbers)), 7))
    dense = torch.relu(net.dense(x, 4))
    v = torch.cat([dense.reshape(EXAMPLES, 1, 4), net.table(4)[ids]], 1)
    products = v @ v.transpose(1, 2)
    rows = [(i, j) for i in range(v.shape[1]) for j in range(i)]
    pairs = torch.stack([products[:, i, j] for i, j in rows], 1)
    x = torch.relu(net.dense(torch.cat([dense, pairs], 1), 8))
    return click_losses(net.dense(x, 1))


def two_tower(net, ids, numbers, log_frequency=None):
    towers = []
    for column in (0, 1):
        x = torch.relu(net.dense(net.table(5)[ids[:, column]], 6))
        towers.append(functional.normalize(net.dense(x, 4), dim=1))
    scores = towers[0] @ towers[1].T / 0.25
    if log_frequency is not None:
        scores = scores - log_frequency.reshape(1, -1)
    return functional.cross_entropy(scores, torch.arange(EXAMPLES), reduction="none")


def corrected_two_tower(net, ids, numbers):
    """What stands in a data set's log_frequency: one number of each example."""
    return two_tower(net, ids, numbers, numbers[:, 2])


CASES = [
    ({"name": "deepfm", "embedding_size": 4, "hidden": [8, 6]}, deepfm),
    ({"name": "dlrm", "embedding_size": 4, "bottom": [7], "top": [8]}, dlrm),
    ({"name": "two_tower", "embedding_size": 5, "hidden": [6], "size": 4, "temperature": 0.25},
     two_tower),
    ({"name": "two_tower", "embedding_size": 5, "hidden": [6], "size": 4, "temperature": 0.25,
      "popularity": "popularity"}, corrected_two_tower),
]


def step(model, run):
    net = Net()
    columns = 2 if model["name"] == "two_tower" else 4
    ids = [(3 * i + 5 * (i % 4) * (j + 1) + j * j) % IDS
           for i in range(EXAMPLES) for j in range(columns)]
    numbers = (8 * hashed(EXAMPLES * 3, 900)).astype(numpy.float32).astype(numpy.float64)
    losses = run(net, torch.tensor(ids).reshape(EXAMPLES, columns),
                 torch.tensor(numbers.reshape(EXAMPLES, 3)))
    losses.sum().backward()
    return {"model": model, "columns": columns, "ids": ids, "numbers": numbers.tolist(),
            "losses": losses.tolist(),
            "variables": [leaf.grad.reshape(-1).tolist() for leaf in net.variables],
            "tables": [{"width": table.shape[1], "gradient": table.grad.reshape(-1).tolist()}
                       for table in net.tables]}


def towers_alone():
    examples, features, temperature = 7, 5, 0.3
    log_frequency = leaf_of(hashed(examples, 702) * 4, [examples])
    users = leaf_of(hashed(examples * features, 700) * 2, [examples, features])
    items = leaf_of(hashed(examples * features, 701) * 2, [examples, features])
    weights = torch.tensor([0.5 + i for i in range(examples)])
    losses = functional.cross_entropy(users @ items.T / temperature, torch.arange(examples),
                                      reduction="none")
    (losses * weights).sum().backward()
    again = [tower.detach().clone().requires_grad_(True) for tower in (users, items)]
    corrected = functional.cross_entropy(
        again[0] @ again[1].T / temperature - log_frequency.reshape(1, -1),
        torch.arange(examples), reduction="none")
    (corrected * weights).sum().backward()
    ranks = (users @ items.T).detach()
    own = ranks.diagonal().reshape(-1, 1)
    return {"examples": examples, "features": features, "temperature": temperature,
            "users": users.detach().reshape(-1).tolist(),
            "items": items.detach().reshape(-1).tolist(),
            "weights": weights.tolist(), "losses": losses.tolist(),
            "users_gradient": users.grad.reshape(-1).tolist(),
            "items_gradient": items.grad.reshape(-1).tolist(),
            "corrected": {"log_frequency": log_frequency.detach().tolist(),
                          "losses": corrected.tolist(),
                          "users_gradient": again[0].grad.reshape(-1).tolist(),
                          "items_gradient": again[1].grad.reshape(-1).tolist(),
                          "log_frequency_gradient": log_frequency.grad.tolist()},
            "before_own": (ranks > own).sum(1).tolist()}


def main():
    torch.set_default_dtype(torch.float64)
    steps = [json.dumps(step(*case)) for case in CASES]
    text = '{"in_batch_softmax": ' + json.dumps(towers_alone()) + ',\n"steps": [\n'
    (HERE / "recommenders.json").write_text(text + ",\n".join(steps) + "\n]}\n")


if __name__ == "__main__":
    main()

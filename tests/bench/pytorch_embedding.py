#!/usr/bin/env python3
"""The peer of embedding: tables with sparse gradients, trained by PyTorch in one process. Prints
examples per second.

    pytorch_embedding.py MODEL ROWS SIZE BATCH IDS OPTIMIZER    e.g. wide_and_deep 1000000 16 512 20 sgd

wide_and_deep: two EmbeddingBags (weights of the wide part, embeddings of the deep one) and a small
mlp. deepfm: Embeddings of as many columns, of which all pairs are multiplied, 13 numbers, and an mlp
of 400 and 400.
"""
import sys
import time

import pytorch_setup  # noqa: F401: before torch

import torch  # noqa: E402: reads the number of threads when it is imported

BATCHES = 100  # that are there; training goes round
NUMBERS = 13
WARM_STEPS = 10
MEASURED_SECONDS = 2.0


class WideAndDeep(torch.nn.Module):
    def __init__(self, rows, size, _):
        super().__init__()
        self.wide = torch.nn.EmbeddingBag(rows, 1, mode="sum", sparse=True)
        self.deep = torch.nn.EmbeddingBag(rows, size, mode="mean", sparse=True)
        self.top = torch.nn.Sequential(torch.nn.Linear(size, 16), torch.nn.ReLU(),
                                       torch.nn.Linear(16, 1))

    def forward(self, ids, _):
        return self.wide(ids) + self.top(self.deep(ids))


class DeepFm(torch.nn.Module):
    def __init__(self, rows, size, ids):
        super().__init__()
        self.weights = torch.nn.Embedding(rows, 1, sparse=True)
        self.vectors = torch.nn.Embedding(rows, size, sparse=True)
        self.top = torch.nn.Sequential(
            torch.nn.Linear(ids * size + NUMBERS, 400), torch.nn.ReLU(),
            torch.nn.Linear(400, 400), torch.nn.ReLU(), torch.nn.Linear(400, 1))

    def forward(self, ids, numbers):
        v = self.vectors(ids)
        pairs = (v.sum(1) ** 2 - (v ** 2).sum(1)).sum(1, keepdim=True) / 2
        x = torch.cat([v.flatten(1), torch.log1p(torch.relu(numbers))], 1)
        return self.weights(ids).sum(1) + pairs + self.top(x)


def main():
    name, rows, size, batch, ids, optimizer_name = sys.argv[1:]
    rows, size, batch, ids = int(rows), int(size), int(batch), int(ids)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = {"wide_and_deep": WideAndDeep, "deepfm": DeepFm}[name](rows, size, ids)
    kind = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}[optimizer_name]
    optimizer = kind(model.parameters(), lr=0.1 if name == "wide_and_deep" else 0.001)
    data = torch.randint(0, rows, (BATCHES, batch, ids))
    numbers = 100 * torch.rand(BATCHES, batch, NUMBERS)
    labels = torch.randint(0, 2, (BATCHES, batch, 1)).float()

    def step(number):
        at = number % BATCHES
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(
            model(data[at], numbers[at]), labels[at]).backward()
        optimizer.step()

    for number in range(WARM_STEPS):
        step(number)
    start, count = time.monotonic(), 0
    while time.monotonic() - start < MEASURED_SECONDS:
        step(count)
        count += 1
    print(count * batch / (time.monotonic() - start))


if __name__ == "__main__":
    main()

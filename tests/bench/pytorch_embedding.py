#!/usr/bin/env python3
"""The peer of embedding: wide and deep with sparse gradients, trained by PyTorch in one process: two
EmbeddingBags (weights of the wide part, embeddings of the deep one) and a linear layer. Prints
examples per second.

    pytorch_embedding.py ROWS SIZE BATCH IDS OPTIMIZER        e.g. 1000000 16 512 20 sgd
"""
import sys
import time

import pytorch_setup  # noqa: F401: before torch

import torch  # noqa: E402: reads the number of threads when it is imported

BATCHES = 100  # that are there; training goes round
WARM_STEPS = 10
MEASURED_SECONDS = 2.0


def main():
    rows, size, batch, ids, name = sys.argv[1:]
    rows, size, batch, ids = int(rows), int(size), int(batch), int(ids)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    wide = torch.nn.EmbeddingBag(rows, 1, mode="sum", sparse=True)
    deep = torch.nn.EmbeddingBag(rows, size, mode="mean", sparse=True)
    top = torch.nn.Sequential(torch.nn.Linear(size, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    parameters = [*wide.parameters(), *deep.parameters(), *top.parameters()]
    optimizer = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}[name](parameters, lr=0.1)
    data = torch.randint(0, rows, (BATCHES, batch, ids))
    labels = torch.randint(0, 2, (BATCHES, batch, 1)).float()

    def step(number):
        x = data[number % BATCHES]
        optimizer.zero_grad()
        logits = wide(x) + top(deep(x))
        torch.nn.functional.binary_cross_entropy_with_logits(
            logits, labels[number % BATCHES]).backward()
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

#!/usr/bin/env python3
"""The peer of compute and train_sequences: recurrent nets and a language model with PyTorch's layers and one thread.

    pytorch_sequences.py gradient NETWORK BATCH    forward and backward, no optimizer: prints steps per CPU second and
                                                   the kernels that OpenBLAS took
    pytorch_sequences.py ddp NETWORK BATCH         training by two processes with DistributedDataParallel over gloo:
                                                   prints examples per second of both
"""
import sys
import time

import pytorch_images as images  # first: it says how many threads there are
import pytorch_mlp as mlp
import torch
import torch.multiprocessing as processes
from torch import nn

MEASURED_SECONDS = 3.0
TIME, WIDTH, HEADS, DEPTH, VOCABULARY = 128, 128, 4, 4, 96
LINE, SYMBOLS, TEXT = (1, 32, 128), 11, 4  # crnn: an image, the digits and the blank, digits of a label


class RowsLstm(nn.Module):
    """A digit of 28 rows, read row by row."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(28, 128, batch_first=True)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Crnn(nn.Module):
    def __init__(self):
        super().__init__()
        layers, inputs = [], 1
        for filters, size in ((32, 2), (64, 2), (128, (2, 1))):
            layers += [nn.Conv2d(inputs, filters, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(size)]
            inputs = filters
        self.layers = nn.Sequential(*layers)
        self.lstm = nn.LSTM(128 * LINE[1] // 8, 128, batch_first=True, bidirectional=True)
        self.head = nn.Linear(256, SYMBOLS)

    def forward(self, x):
        x = self.layers(x)
        x = x.permute(0, 3, 1, 2).reshape(x.shape[0], x.shape[3], -1)
        return self.head(self.lstm(x)[0])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("mask", torch.ones(TIME, TIME, dtype=torch.bool).triu(1))

    def forward(self, x):
        heads = (part.reshape(-1, TIME, HEADS, WIDTH // HEADS).transpose(1, 2)
                 for part in self.qkv(self.norms[0](x)).split(WIDTH, dim=2))
        q, k, v = heads
        scores = (q @ k.transpose(2, 3) * (WIDTH // HEADS) ** -0.5).masked_fill(self.mask, -torch.inf)
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))
        return x + self.narrow(nn.functional.gelu(self.wide(self.norms[1](x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(VOCABULARY, WIDTH))
        self.positions = nn.Parameter(0.02 * torch.randn(TIME, WIDTH))
        self.blocks = nn.Sequential(*[Block() for _ in range(DEPTH)], nn.LayerNorm(WIDTH))

    def forward(self, ids):
        x = self.blocks(nn.functional.embedding(ids, self.table) + self.positions)
        return x @ self.table.T


def class_loss(scores, labels):
    return nn.functional.cross_entropy(scores.flatten(0, -2), labels.flatten())


def ctc_loss(scores, texts):
    count = scores.shape[0]
    return nn.functional.ctc_loss(nn.functional.log_softmax(scores, 2).transpose(0, 1), texts,
                                  torch.full((count,), scores.shape[1]), torch.full((count,), TEXT))


# The network, a function of the number of examples that makes their data and labels, the loss.
NETWORKS = {
    "lstm": (RowsLstm, lambda n: (torch.rand(n, 28, 28), torch.randint(0, 10, (n,))), class_loss),
    "crnn": (Crnn, lambda n: (torch.rand(n, *LINE), torch.randint(1, SYMBOLS, (n, TEXT))), ctc_loss),
    "gpt": (Gpt, lambda n: (torch.randint(0, VOCABULARY, (n, TIME)), torch.randint(0, VOCABULARY, (n, TIME))),
            class_loss),
}


def gradient_rate(network, batch):
    torch.manual_seed(1)
    make, draw, loss = NETWORKS[network]
    model = make()
    data, labels = draw(batch)

    def step():
        model.zero_grad()
        loss(model(data), labels).backward()

    for _ in range(2):
        step()
    start, count = time.process_time(), 0
    while time.process_time() - start < MEASURED_SECONDS or count < 2:
        step()
        count += 1
    return count / (time.process_time() - start)


def train(rank, workers, place, network, batch, answers):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    make, draw, loss = NETWORKS[network]
    data, labels = draw(mlp.BATCHES * batch)
    mlp.train_model(make(), data, labels, rank, workers, place, batch, answers, loss)


def main():
    what, network, batch = sys.argv[1:]
    if what == "gradient":
        torch.set_num_threads(1)
        print(gradient_rate(network, int(batch)), images.openblas_core())
        return
    answers = processes.get_context("spawn").SimpleQueue()
    processes.spawn(train, args=(2, f"127.0.0.1:{mlp.free_port()}", network, int(batch), answers), nprocs=2)
    print(answers.get())


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The peer of compute, train_lstm, train_crnn and train_gpt: recurrent nets and a language model with PyTorch's layers.

    pytorch_sequences.py gradient|ddp NETWORK BATCH    see pytorch_network.py
"""
import pytorch_network as peer  # first: it says how many threads there are
import torch
from torch import nn

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
        # No buffer: DDP would send it at each step, and gloo has no bool.
        self.mask = torch.ones(TIME, TIME, dtype=torch.bool).triu(1)

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


def draw_rows(count):
    return torch.rand(count, 28, 28), torch.randint(0, 10, (count,))


def draw_lines(count):
    return torch.rand(count, *LINE), torch.randint(1, SYMBOLS, (count, TEXT))


def draw_tokens(count):
    return torch.randint(0, VOCABULARY, (count, TIME)), torch.randint(0, VOCABULARY, (count, TIME))


NETWORKS = {
    "lstm": peer.Network(RowsLstm, draw_rows, class_loss),
    "crnn": peer.Network(Crnn, draw_lines, ctc_loss),
    "gpt": peer.Network(Gpt, draw_tokens, class_loss),
}

if __name__ == "__main__":
    peer.main(NETWORKS)

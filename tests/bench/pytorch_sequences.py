#!/usr/bin/env python3
"""The peer of compute, train_lstm, train_crnn and train_gpt: recurrent nets and a language model with PyTorch's layers.

    pytorch_sequences.py WHAT NETWORK BATCH [PRECISION]    see pytorch_network.py
"""
from dataclasses import dataclass
from functools import partial

import pytorch_network as peer  # first: it says how many threads there are
import torch
from torch import nn

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


@dataclass
class GptSize:
    time: int
    width: int
    heads: int
    depth: int
    vocabulary: int


SMALL = GptSize(time=128, width=128, heads=4, depth=4, vocabulary=96)
GPT2 = GptSize(time=1024, width=768, heads=12, depth=12, vocabulary=50257)


class CausalAttention(nn.Module):
    """By PyTorch's own function where there is one, which it has since 2.0."""

    def __init__(self, time):
        super().__init__()
        # No buffer: DDP would send it at each step, and gloo has no bool.
        self.mask = torch.ones(time, time, dtype=torch.bool).triu(1)

    def _apply(self, move, *rest):  # to where the module goes, as it is no buffer
        self.mask = move(self.mask)
        return super()._apply(move, *rest)

    def forward(self, q, k, v):
        if hasattr(nn.functional, "scaled_dot_product_attention"):
            return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = (q @ k.transpose(2, 3) * q.shape[-1] ** -0.5).masked_fill(self.mask, -torch.inf)
        return scores.softmax(-1) @ v


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        width, self.heads = size.width, size.heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.attend = CausalAttention(size.time)

    def forward(self, x):
        count, time, width = x.shape
        heads = (part.reshape(count, time, self.heads, width // self.heads).transpose(1, 2)
                 for part in self.qkv(self.norms[0](x)).split(width, dim=2))
        x = x + self.out(self.attend(*heads).transpose(1, 2).reshape(x.shape))
        return x + self.narrow(nn.functional.gelu(self.wide(self.norms[1](x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(size.vocabulary, size.width))
        self.positions = nn.Parameter(0.02 * torch.randn(size.time, size.width))
        self.blocks = nn.Sequential(*[Block(size) for _ in range(size.depth)], nn.LayerNorm(size.width))

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


def draw_tokens(size, count):
    return tuple(torch.randint(0, size.vocabulary, (count, size.time)) for _ in range(2))


NETWORKS = {
    "lstm": peer.Network(RowsLstm, draw_rows, class_loss),
    "crnn": peer.Network(Crnn, draw_lines, ctc_loss),
    "gpt": peer.Network(partial(Gpt, SMALL), partial(draw_tokens, SMALL), class_loss),
    "gpt2_small": peer.Network(partial(Gpt, GPT2), partial(draw_tokens, GPT2), class_loss),
}

if __name__ == "__main__":
    peer.main(NETWORKS)

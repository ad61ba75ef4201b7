#!/usr/bin/env python3
"""Makes block.json beside it: PyTorch's losses, gradients and running averages of a small residual
network with batch norms, and its losses in evaluation by the averages after that batch.

Run by hand (Debian: python3-torch), as make_golden.py. Names, shapes and the order of variables are
those of tests/runtime/graph/residual_block_test.cpp.
"""
import torch
from torch import nn
from torch.nn import functional

from make_golden import numbers, write


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.stem_norm = nn.BatchNorm2d(8)
        self.first = nn.Conv2d(8, 12, 3, stride=2, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(12)
        self.second = nn.Conv2d(12, 12, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(12)
        self.shortcut = nn.Conv2d(8, 12, 1, stride=2, bias=False)
        self.shortcut_norm = nn.BatchNorm2d(12)
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        x = torch.relu(self.stem_norm(self.stem(x)))
        x = functional.max_pool2d(x, 3, 2, 1)
        y = torch.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        x = torch.relu(y + self.shortcut_norm(self.shortcut(x)))
        return self.head(x.mean(dim=(2, 3)))


def ours(name, values):
    """Kernels are [kernel height, kernel width, channels, filters] and [in, out] here."""
    if values.dim() == 4:
        return numbers(values.permute(2, 3, 1, 0))
    return numbers(values.t()) if name == "head.weight" else numbers(values)


def main():
    torch.manual_seed(21)
    torch.set_default_dtype(torch.float64)  # what float32 computes is compared with what is right
    model = Block()
    with torch.no_grad():
        for name, values in model.named_parameters():
            if "norm" in name:
                values += 0.3 * torch.randn_like(values)
    x = torch.randn(6, 3, 9, 10)
    labels = torch.randint(0, 5, (6,))
    parameters = {name: ours(name, values) for name, values in model.named_parameters()}
    losses = functional.cross_entropy(model(x), labels, reduction="none", label_smoothing=0.1)
    losses.sum().backward()
    model.eval()
    evaluated = functional.cross_entropy(model(x), labels, reduction="none", label_smoothing=0.1)
    write("block.json", {
        "x": numbers(x.permute(0, 2, 3, 1)), "labels": labels.tolist(), "parameters": parameters,
        "losses": numbers(losses),
        "gradients": {name: ours(name, values.grad) for name, values in model.named_parameters()},
        "state": {name: numbers(values) for name, values in model.named_buffers()
                  if values.dim() == 1},
        "evaluated": numbers(evaluated)})


if __name__ == "__main__":
    main()

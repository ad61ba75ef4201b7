#!/usr/bin/env python3
"""The peer of compute, train_cnn and train_cifar_cnn: image models of the zoo with PyTorch's layers,
without dropout.

    pytorch_images.py WHAT NETWORK BATCH [PRECISION]    see pytorch_network.py
"""
from functools import partial

import pytorch_network as peer  # first: it says how many threads there are
import torch
from torch import nn


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def cifar_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 256), nn.ReLU(), nn.Linear(256, 10))


class Basic(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))
        self.shortcut = nn.Identity() if inputs == width and stride == 1 else nn.Sequential(
            nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        return torch.relu_(self.layers(x) + self.shortcut(x))


def resnet18(stem, classes):
    blocks, inputs = [], 64
    for stage, width in enumerate((64, 128, 256, 512)):
        for i in range(2):
            blocks.append(Basic(inputs, width, 2 if stage > 0 and i == 0 else 1))
            inputs = width
    return nn.Sequential(*stem(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def small_stem():
    return [nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]


def large_stem():
    return [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]


def draw_images(shape, count, classes=10):
    return torch.rand(count, *shape), torch.randint(0, classes, (count,))


NETWORKS = {
    "lenet5": peer.Network(lenet5, partial(draw_images, (1, 28, 28)), nn.functional.cross_entropy),
    "cifar_cnn": peer.Network(cifar_cnn, partial(draw_images, (3, 32, 32)),
                              partial(nn.functional.cross_entropy, label_smoothing=0.1)),
    "resnet18": peer.Network(partial(resnet18, small_stem, 10), partial(draw_images, (3, 32, 32)),
                             nn.functional.cross_entropy),
    "resnet18_224": peer.Network(partial(resnet18, large_stem, 1000),
                                 partial(draw_images, (3, 224, 224), classes=1000), nn.functional.cross_entropy),
}

if __name__ == "__main__":
    peer.main(NETWORKS)

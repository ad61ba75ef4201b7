#!/usr/bin/env python3
"""The peer of compute and train_cnn: image models of the zoo with PyTorch's layers and one thread.

    pytorch_images.py gradient NETWORK BATCH    forward and backward, no optimizer: prints steps per CPU second, the
                                                layout that was the faster one and the kernels that OpenBLAS took
    pytorch_images.py ddp NETWORK BATCH         training by two processes with DistributedDataParallel over gloo:
                                                prints examples per second of both
"""
import ctypes
import sys
import time

import pytorch_mlp as mlp  # first: it says how many threads there are
import torch
import torch.multiprocessing as processes
from torch import nn

LAYOUTS = {"NCHW": torch.contiguous_format, "NHWC": torch.channels_last}
TRIED_SECONDS = 0.4  # of each layout
MEASURED_SECONDS = 1.5


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def cifar_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 10))


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


def resnet18():
    blocks, inputs = [], 64
    for stage, width in enumerate((64, 128, 256, 512)):
        for i in range(2):
            blocks.append(Basic(inputs, width, 2 if stage > 0 and i == 0 else 1))
            inputs = width
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), *blocks,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


# The network, an example's shape and the label smoothing.
NETWORKS = {"lenet5": (lenet5, (1, 28, 28), 0.0), "cifar_cnn": (cifar_cnn, (3, 32, 32), 0.1),
            "resnet18": (resnet18, (3, 32, 32), 0.0)}


def openblas_core():
    """The kernels that OpenBLAS chose; "none" where torch has another BLAS, whose products may be a tenth as fast."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "blas" in line}
    for path in sorted(paths):
        name = getattr(ctypes.CDLL(path), "openblas_get_corename", None)
        if name is not None:
            name.restype = ctypes.c_char_p
            return name().decode()
    return "none"


def gradient_rate(network, batch):
    make, image, smoothing = NETWORKS[network]
    labels = torch.randint(0, 10, (batch,))

    def rate_of(layout, seconds):
        torch.manual_seed(1)
        model = make().to(memory_format=LAYOUTS[layout])
        data = torch.rand(batch, *image).to(memory_format=LAYOUTS[layout])

        def step():
            model.zero_grad()
            nn.functional.cross_entropy(model(data), labels, label_smoothing=smoothing).backward()

        for _ in range(3):
            step()
        start, count = time.process_time(), 0
        while time.process_time() - start < seconds or count < 2:
            step()
            count += 1
        return count / (time.process_time() - start)

    fastest = max(LAYOUTS, key=lambda layout: rate_of(layout, TRIED_SECONDS))
    return rate_of(fastest, MEASURED_SECONDS), fastest


def train(rank, workers, place, network, batch, answers):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    make, image, _ = NETWORKS[network]
    data = torch.rand(mlp.BATCHES * batch, *image)
    labels = torch.randint(0, 10, (mlp.BATCHES * batch,))
    mlp.train_model(make(), data, labels, rank, workers, place, batch, answers)


def main():
    what, network, batch = sys.argv[1:]
    if what == "gradient":
        torch.set_num_threads(1)
        rate, layout = gradient_rate(network, int(batch))
        print(rate, layout, openblas_core())
        return
    answers = processes.get_context("spawn").SimpleQueue()
    processes.spawn(train, args=(2, f"127.0.0.1:{mlp.free_port()}", network, int(batch), answers), nprocs=2)
    print(answers.get())


if __name__ == "__main__":
    main()

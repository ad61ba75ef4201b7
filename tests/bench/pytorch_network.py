"""What pytorch_images.py and pytorch_sequences.py measure of their networks, with one thread.

    SCRIPT gradient NETWORK BATCH    forward and backward, no optimizer: prints steps per CPU second and the setup
    SCRIPT ddp NETWORK BATCH         training by two processes with DistributedDataParallel over gloo: prints
                                     examples per second and CPU seconds per example of both together, the number of
                                     parameters and the setup

The setup is the layout, of networks of images, that was the faster one, and the kernels that OpenBLAS took.
"""
import ctypes
import sys
import time
from dataclasses import dataclass
from typing import Callable

import pytorch_mlp as mlp  # first: it says how many threads there are
import torch
import torch.multiprocessing as processes

LAYOUTS = {"NCHW": torch.contiguous_format, "NHWC": torch.channels_last}
TRIED_SECONDS = 0.4  # of each layout
MEASURED_SECONDS = 2.0


@dataclass
class Network:
    make: Callable  # the module
    draw: Callable  # the data and the labels of so many examples
    loss: Callable  # of the module's output and the labels


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


def parameters_of(module):
    """How many there are. PyTorch's LSTM has two biases where ours has one: the second is left out."""
    return sum(each.numel() for name, each in module.named_parameters() if "bias_hh" not in name)


def gradient_rate(network, batch, layout, seconds):
    torch.manual_seed(1)
    model, (data, labels) = network.make(), network.draw(batch)
    if layout:
        model, data = model.to(memory_format=LAYOUTS[layout]), data.to(memory_format=LAYOUTS[layout])

    def step():
        model.zero_grad()
        network.loss(model(data), labels).backward()

    for _ in range(3):
        step()
    start, count = time.process_time(), 0
    while time.process_time() - start < seconds or count < 2:
        step()
        count += 1
    return count / (time.process_time() - start)


def faster_layout(network, batch):
    if network.draw(1)[0].dim() != 4:
        return None
    return max(LAYOUTS, key=lambda layout: gradient_rate(network, batch, layout, TRIED_SECONDS))


def train(rank, workers, place, network, batch, layout, answers):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model, (data, labels) = network.make(), network.draw(mlp.BATCHES * batch)
    if layout:
        model, data = model.to(memory_format=LAYOUTS[layout]), data.to(memory_format=LAYOUTS[layout])
    answer = mlp.train_model(model, data, labels, rank, workers, place, batch, network.loss)
    if rank == 0:
        answers.put(answer)


def main(networks):
    what, name, batch = sys.argv[1:]
    network, batch = networks[name], int(batch)
    torch.set_num_threads(1)
    layout = faster_layout(network, batch)
    if what == "gradient":
        answer = [gradient_rate(network, batch, layout, MEASURED_SECONDS)]
    else:
        answers = processes.get_context("spawn").SimpleQueue()
        place = f"127.0.0.1:{mlp.free_port()}"
        processes.spawn(train, args=(2, place, network, batch, layout, answers), nprocs=2)
        answer = [*answers.get(), parameters_of(network.make())]
    print(*answer, *([layout] if layout else []), openblas_core())

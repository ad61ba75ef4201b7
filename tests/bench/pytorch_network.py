"""What pytorch_images.py and pytorch_sequences.py measure of their networks.

    SCRIPT gradient NETWORK BATCH    forward and backward by one thread, no optimizer: prints steps per CPU second and
                                     the setup
    SCRIPT ddp NETWORK BATCH         training by two processes with DistributedDataParallel over gloo, one thread each:
                                     prints examples per second and CPU seconds per example of both together, the
                                     number of parameters and the setup
    SCRIPT cpu|cuda NETWORK BATCH PRECISION    forward and backward there by the clock, in float32, tf32 or bfloat16:
                                     prints a line of JSON with runs of steps per second, eager and compiled

The setup is the layout, of networks of images, that was the faster one, and the kernels that OpenBLAS took, or on a GPU
the version of PyTorch.
"""
import contextlib
import ctypes
import json
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import Callable

import pytorch_mlp as mlp  # first: it says how many threads there are
import pytorch_setup
import torch
import torch.multiprocessing as processes

LAYOUTS = {"NCHW": torch.contiguous_format, "NHWC": torch.channels_last}
TRIED_SECONDS = 0.4  # of each layout
MEASURED_SECONDS = 2.0
CLOCK_RUNS = 3
CLOCK_SECONDS = 1.0  # of each run
REASON_LENGTH = 200  # of why there is no compiled network


@dataclass
class Network:
    make: Callable  # the module
    draw: Callable  # the data and the labels of so many examples
    loss: Callable  # of the module's output and the labels


@dataclass
class Place:
    """Where a step is computed, and how."""
    device: str = "cpu"
    precision: str = "float32"
    is_compiled: bool = False

    def autocast(self):
        if self.precision != "bfloat16":
            return contextlib.nullcontext()
        return torch.autocast(self.device, dtype=torch.bfloat16)

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()


def openblas_kernels():
    """Those that OpenBLAS chose. Where torch has another BLAS, its products may be a tenth as fast."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "blas" in line}
    for path in sorted(paths):
        name = getattr(ctypes.CDLL(path), "openblas_get_corename", None)
        if name is not None:
            name.restype = ctypes.c_char_p
            return "OpenBLAS for " + name().decode()
    return "without OpenBLAS"


def setup_of(layout, rest):
    return f"{layout}, {rest}" if layout else rest


def parameters_of(module):
    """How many there are. PyTorch's LSTM has two biases where ours has one: the second is left out."""
    return sum(each.numel() for name, each in module.named_parameters() if "bias_hh" not in name)


def gradient_step(network, batch, layout, place=Place()):
    """A function that computes the gradient of one batch. To a GPU the batch is copied each time, from memory that
    copies need not wait for, as a training loop does."""
    torch.manual_seed(1)
    model, (data, labels) = network.make(), network.draw(batch)
    if layout:
        model, data = model.to(memory_format=LAYOUTS[layout]), data.to(memory_format=LAYOUTS[layout])
    if place.device == "cuda":
        model, data, labels = model.cuda(), data.pin_memory(), labels.pin_memory()

    def loss_of(data, labels):
        return network.loss(model(data), labels)

    if place.is_compiled:
        loss_of = torch.compile(loss_of)

    def step():
        model.zero_grad()
        with place.autocast():
            loss = loss_of(data.to(place.device, non_blocking=True), labels.to(place.device, non_blocking=True))
        loss.backward()

    return step


def gradient_rate(network, batch, layout, seconds):
    """Steps per CPU second."""
    step = gradient_step(network, batch, layout)
    for _ in range(3):
        step()
    start, count = time.process_time(), 0
    while time.process_time() - start < seconds or count < 2:
        step()
        count += 1
    return count / (time.process_time() - start)


def clock_rates(network, batch, layout, place, seconds, runs):
    """Steps per second, run by run."""
    step = gradient_step(network, batch, layout, place)

    def rate(count):
        place.wait()
        start = time.perf_counter()
        for _ in range(count):
            step()
        place.wait()
        return count / (time.perf_counter() - start)

    rate(3)  # compiles, and tries cuDNN's algorithms
    count = max(2, int(seconds * rate(2)))
    return [rate(count) for _ in range(runs)]


def faster_layout(network, rate_of):
    if network.draw(1)[0].dim() != 4:
        return None
    return max(LAYOUTS, key=rate_of)


def set_precision(precision):
    """Of products in float32. cuDNN may take its time to choose the fastest algorithm for each shape."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True


def compiled_rates(rates):
    """Those of torch.compile, or why there are none."""
    if not hasattr(torch, "compile"):
        return [], f"PyTorch {torch.__version__} has no torch.compile"
    try:
        return rates(), ""
    except Exception as error:  # noqa: BLE001: whatever its compilers throw
        return [], f"torch.compile: {' '.join(str(error).split())[:REASON_LENGTH]}"


def measure_on_device(network, batch, device, precision):
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    set_precision(precision)
    torch.set_num_threads(pytorch_setup.THREADS)
    place = Place(device, precision)
    layout = faster_layout(network, lambda each: clock_rates(network, batch, each, place, TRIED_SECONDS, 1))
    rates = partial(clock_rates, network, batch, layout, seconds=CLOCK_SECONDS, runs=CLOCK_RUNS)
    eager = rates(place=place)
    compiled, why_none = compiled_rates(lambda: rates(place=Place(device, precision, is_compiled=True)))
    how = openblas_kernels() if device == "cpu" else f"version {torch.__version__}"
    print(json.dumps({"eager": eager, "compiled": compiled, "why_not_compiled": why_none,
                      "parameters": parameters_of(network.make()), "setup": setup_of(layout, how)}))


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
    what, name, batch, *precision = sys.argv[1:]
    network, batch = networks[name], int(batch)
    if precision:
        measure_on_device(network, batch, what, *precision)
        return
    torch.set_num_threads(1)
    layout = faster_layout(network, lambda each: gradient_rate(network, batch, each, TRIED_SECONDS))
    if what == "gradient":
        answer = [gradient_rate(network, batch, layout, MEASURED_SECONDS)]
    else:
        answers = processes.get_context("spawn").SimpleQueue()
        place = f"127.0.0.1:{mlp.free_port()}"
        processes.spawn(train, args=(2, place, network, batch, layout, answers), nprocs=2)
        answer = [*answers.get(), parameters_of(network.make())]
    print(*answer, setup_of(layout, openblas_kernels()))

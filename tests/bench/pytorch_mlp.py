#!/usr/bin/env python3
"""The peer of train_mlp and train_big_mlp: the same network trained by PyTorch, alone or by two
processes with DistributedDataParallel over gloo. Prints examples per second of all processes.

    pytorch_mlp.py one|ddp BATCH ACTIVATION SIZE...        e.g. one 100 sigmoid 784 100 10
    pytorch_mlp.py RANK/RANKS@ADDRESS BATCH ...            one of so many processes that meet at rank 0's ADDRESS
"""
import socket
import sys
import time

import pytorch_setup  # noqa: F401: before torch

import torch  # noqa: E402: reads the number of threads when it is imported
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as processes  # noqa: E402

BATCHES = 20  # that are there; training goes round
WARM_SECONDS = 0.5
MEASURED_SECONDS = 2.0
KINDS = {"sigmoid": torch.nn.Sigmoid, "relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


def build(sizes, activation):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), activation()]
    return torch.nn.Sequential(*layers[:-1])


def train(rank, workers, place, batch, activation, sizes, answers):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    data = torch.rand(BATCHES * batch, sizes[0])
    labels = torch.randint(0, sizes[-1], (BATCHES * batch,))
    rate, _ = train_model(build(sizes, activation), data, labels, rank, workers, place, batch)
    if rank == 0:
        answers.put(rate)


def train_model(model, data, labels, rank, workers, place, batch, loss=torch.nn.functional.cross_entropy):
    """Examples per second of all processes, and the CPU seconds of all of them for an example."""
    if workers > 1:
        dist.init_process_group("gloo", init_method=f"tcp://{place}", rank=rank,
                                world_size=workers)
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(number):
        begin = number % BATCHES * batch
        optimizer.zero_grad()
        output = model(data[begin:begin + batch])
        loss(output, labels[begin:begin + batch]).backward()
        optimizer.step()

    # Every process takes equally many steps: a number that the time of the first few gives.
    start = time.monotonic()
    for number in range(5):
        step(number)
    seconds = torch.tensor([(time.monotonic() - start) / 5])
    if workers > 1:
        dist.broadcast(seconds, 0)
    for number in range(max(1, int(WARM_SECONDS / seconds.item()))):
        step(number)
    count = max(5, int(MEASURED_SECONDS / seconds.item()))
    start, cpu_start = time.monotonic(), time.process_time()
    for number in range(count):
        step(number)
    elapsed, cpu = time.monotonic() - start, torch.tensor([time.process_time() - cpu_start])
    if workers > 1:
        dist.all_reduce(cpu)
        dist.barrier()
        dist.destroy_process_group()
    examples = workers * count * batch
    return examples / elapsed, cpu.item() / examples


class Printer:
    def put(self, answer):
        print(answer)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def main():
    mode, batch, activation, *sizes = sys.argv[1:]
    if "@" in mode:
        who, address = mode.split("@")
        rank, ranks = who.split("/")
        train(int(rank), int(ranks), f"{address}:29511", int(batch), KINDS[activation],
              [int(s) for s in sizes], Printer())
        return
    workers = {"one": 1, "ddp": 2}[mode]
    context = processes.get_context("spawn")
    answers = context.SimpleQueue()
    arguments = (workers, f"127.0.0.1:{free_port()}", int(batch), KINDS[activation], [int(s) for s in sizes],
                 answers)
    processes.spawn(train, args=arguments, nprocs=workers)
    print(answers.get())


if __name__ == "__main__":
    main()

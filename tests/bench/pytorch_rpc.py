#!/usr/bin/env python3
"""The peer of train_mlp and train_big_mlp with a parameter server: one process holds the model, two
compute gradients and send them by torch.distributed.rpc, which answers with the new parameters once
the gradients of both have come (sync) or at once (async). Prints examples per second of both.

    pytorch_rpc.py sync|async BATCH ACTIVATION SIZE...        e.g. sync 100 sigmoid 784 100 10
"""
import os
import sys
import threading
import time

import pytorch_mlp as mlp  # first: it says how many threads there are
import torch
import torch.distributed.rpc as rpc
import torch.multiprocessing as processes

WORKERS = 2
FIRST_STEPS = 5
held = None  # the model, in the process that holds it


class Held:
    def __init__(self, mode, activation, sizes):
        torch.manual_seed(1)
        self.is_sync = mode == "sync"
        self.model = mlp.build(sizes, activation)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.lock = threading.Lock()
        self.gradients = []
        self.made = torch.futures.Future()

    def parameters(self):
        return [parameter.detach() for parameter in self.model.parameters()]

    def apply(self, gradients):
        for parameter, gradient in zip(self.model.parameters(), gradients):
            parameter.grad = gradient
        self.optimizer.step()

    def push(self, gradients):
        with self.lock:
            made = self.made
            if not self.is_sync:
                self.apply(gradients)
                self.made = torch.futures.Future()
                made.set_result(self.parameters())
                return made
            self.gradients.append(gradients)
            if len(self.gradients) == WORKERS:
                self.apply([sum(of) / WORKERS for of in zip(*self.gradients)])
                self.gradients = []
                self.made = torch.futures.Future()
                made.set_result(self.parameters())
            return made


def hold(mode, activation, sizes):
    global held
    held = Held(mode, activation, sizes)


@rpc.functions.async_execution
def push(gradients):
    return held.push(gradients)


def work(rank, mode, batch, activation, sizes, meet, seconds, answers):
    model = mlp.build(sizes, activation)
    data = torch.rand(mlp.BATCHES * batch, sizes[0])
    labels = torch.randint(0, sizes[-1], (mlp.BATCHES * batch,))

    def step(number):
        begin = number % mlp.BATCHES * batch
        model.zero_grad()
        output = model(data[begin:begin + batch])
        torch.nn.functional.cross_entropy(output, labels[begin:begin + batch]).backward()
        fresh = rpc.rpc_sync("ps", push, args=([p.grad for p in model.parameters()],))
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), fresh):
                parameter.copy_(value)

    # Every process takes equally many steps: a number that the time of the first few gives.
    start = time.monotonic()
    for number in range(FIRST_STEPS):
        step(number)
    if rank == 0:
        seconds.value = (time.monotonic() - start) / FIRST_STEPS
    meet.wait()
    for number in range(max(1, int(mlp.WARM_SECONDS / seconds.value))):
        step(number)
    count = max(FIRST_STEPS, int(mlp.MEASURED_SECONDS / seconds.value))
    meet.wait()
    start = time.monotonic()
    for number in range(count):
        step(number)
    meet.wait()
    if rank == 0:
        answers.put(WORKERS * count * batch / (time.monotonic() - start))


def run(process, port, mode, batch, activation, sizes, meet, seconds, answers):
    torch.set_num_threads(1)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    rank = process - 1  # process 0 is the ps
    name = "ps" if process == 0 else f"worker{rank}"
    if process == 0:
        hold(mode, activation, sizes)
    rpc.init_rpc(name, rank=process, world_size=WORKERS + 1)
    if process > 0:
        work(rank, mode, batch, activation, sizes, meet, seconds, answers)
    rpc.shutdown()


def main():
    mode, batch, activation, *sizes = sys.argv[1:]
    context = processes.get_context("spawn")
    answers = context.SimpleQueue()
    arguments = (mlp.free_port(), mode, int(batch), mlp.KINDS[activation],
                 [int(size) for size in sizes], context.Barrier(WORKERS),
                 context.Value("d", 0.0), answers)
    processes.spawn(run, args=arguments, nprocs=WORKERS + 1)
    print(answers.get())


if __name__ == "__main__":
    main()

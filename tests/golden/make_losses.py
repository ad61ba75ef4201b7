#!/usr/bin/env python3
"""Makes losses.json beside it: PyTorch's numbers for losses with arguments.

Run by hand (Debian: python3-torch), as make_golden.py.
"""
import torch
from torch.nn import functional

from make_golden import numbers, write


def softmax_case(rows, classes, smoothing, spread):
    logits = (torch.randn(rows, classes) * spread).requires_grad_()
    labels = torch.randint(0, classes, (rows,))
    upstream = torch.randn(rows)
    losses = functional.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing)
    losses.backward(upstream)
    return {"rows": rows, "classes": classes, "smoothing": smoothing, "logits": numbers(logits),
            "labels": labels.tolist(), "upstream": numbers(upstream), "losses": numbers(losses),
            "logits_gradient": numbers(logits.grad)}


def sigmoid_case(smoothing):
    edges = torch.tensor([-80.0, -1e-4, 0.0, 1e-4, 80.0])
    logits = torch.cat([torch.randn(12) * 3, edges, edges]).requires_grad_()
    labels = torch.cat([(torch.rand(12) < 0.5).double(), torch.zeros(5), torch.ones(5)])
    upstream = torch.randn(22)
    smoothed = labels * (1 - smoothing) + smoothing / 2
    losses = functional.binary_cross_entropy_with_logits(logits, smoothed, reduction="none")
    losses.backward(upstream)
    return {"smoothing": smoothing, "logits": numbers(logits),
            "labels": [int(label) for label in labels], "upstream": numbers(upstream),
            "losses": numbers(losses), "logits_gradient": numbers(logits.grad)}


def huber_case(delta):
    predictions = (torch.randn(20) * 3).requires_grad_()
    targets = torch.randn(20)
    upstream = torch.randn(20)
    losses = functional.huber_loss(predictions, targets, reduction="none", delta=delta)
    losses.backward(upstream)
    return {"delta": delta, "predictions": numbers(predictions), "targets": numbers(targets),
            "upstream": numbers(upstream), "losses": numbers(losses),
            "predictions_gradient": numbers(predictions.grad)}


def main():
    torch.manual_seed(20)
    torch.set_default_dtype(torch.float64)  # what float32 computes is compared with what is right
    write("losses.json", {
        "softmax": [softmax_case(5, 3, 0.1, 3), softmax_case(2, 40, 0.5, 1),
                    softmax_case(3, 17, 0.9, 20)],
        "sigmoid": [sigmoid_case(0.1), sigmoid_case(0.8)],
        "huber": [huber_case(1.0), huber_case(0.3), huber_case(5.0)]})


if __name__ == "__main__":
    main()

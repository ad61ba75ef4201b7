#!/usr/bin/env python3
"""Makes sequences.json beside it: PyTorch's recurrent networks, losses of tokens and CTC.

In float64. Run by hand (Debian: python3-torch), as make_golden.py. Kernels are in our layout, [in,
gates * units]; of PyTorch's two biases the second is zero, but for the new gate of a GRU.
"""
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from make_golden import numbers, write

EXAMPLES, TIME, IN, UNITS = 3, 5, 4, 3


def network(cell):
    if cell == "lstm":
        return nn.LSTM(IN, UNITS, batch_first=True, bidirectional=True)
    if cell == "gru":
        return nn.GRU(IN, UNITS, batch_first=True, bidirectional=True)
    return nn.RNN(IN, UNITS, batch_first=True, bidirectional=True, nonlinearity=cell[len("rnn_"):])


def recurrence(cell, order, output, lengths):
    net = network(cell)
    suffix = "_l0_reverse" if order == "backward" else "_l0"
    kernel, recurrent, bias, bias2 = [
        getattr(net, name + suffix) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    with torch.no_grad():
        for leaf in (kernel, recurrent, bias, bias2):
            leaf.copy_(torch.randn(leaf.shape) * 0.7)
        bias2[:2 * UNITS if cell == "gru" else None] = 0
    x = torch.randn(EXAMPLES, TIME, IN, requires_grad=True)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    states, last = net(packed)
    states, _ = pad_packed_sequence(states, batch_first=True, total_length=TIME)
    half = slice(UNITS, None) if order == "backward" else slice(None, UNITS)
    last = (last[0] if cell == "lstm" else last)[1 if order == "backward" else 0]
    y = states[:, :, half] if output == "all" else last
    upstream = torch.randn(y.shape)
    y.backward(upstream)
    case = {"cell": cell, "order": order, "output": output, "lengths": lengths, "x": numbers(x),
            "kernel": numbers(kernel.T), "recurrent_kernel": numbers(recurrent.T),
            "bias": numbers(bias), "y": numbers(y), "upstream": numbers(upstream),
            "x_gradient": numbers(x.grad), "kernel_gradient": numbers(kernel.grad.T),
            "recurrent_kernel_gradient": numbers(recurrent.grad.T),
            "bias_gradient": numbers(bias.grad)}
    if cell == "gru":
        case["recurrent_bias"] = numbers(bias2[2 * UNITS:])
        case["recurrent_bias_gradient"] = numbers(bias2.grad[2 * UNITS:])
    return case


def ctc(time, classes, blank, texts, lengths, spread):
    """Texts are of places in the alphabet: classes without the blank."""
    scores = (torch.randn(len(texts), time, classes) * spread).float().double().requires_grad_()
    upstream = torch.randn(len(texts))
    flat = [symbol + (symbol >= blank) for text in texts for symbol in text]
    counts = [len(text) for text in texts]
    losses = functional.ctc_loss(functional.log_softmax(scores, 2).transpose(0, 1),
                                 torch.tensor(flat, dtype=torch.long), torch.tensor(lengths),
                                 torch.tensor(counts), blank=blank, reduction="none")
    losses.backward(upstream)
    return {"time": time, "classes": classes, "blank": blank, "texts": texts, "lengths": lengths,
            "scores": numbers(scores), "upstream": numbers(upstream),
            "losses": losses.tolist(), "scores_gradient": numbers(scores.grad)}


def tokens(lengths, smoothing):
    time, classes = 4, 6
    logits = (torch.randn(len(lengths), time, classes) * 2).requires_grad_()
    labels = torch.randint(0, classes, (len(lengths), time))
    mask = torch.arange(time)[None, :] < torch.tensor(lengths)[:, None]
    each = functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none",
                                    label_smoothing=smoothing)
    losses = (each * mask).sum(1)
    upstream = torch.randn(len(lengths))
    losses.backward(upstream)
    return {"time": time, "classes": classes, "lengths": lengths, "smoothing": smoothing,
            "logits": numbers(logits), "labels": labels.flatten().tolist(),
            "upstream": numbers(upstream), "losses": numbers(losses),
            "logits_gradient": numbers(logits.grad)}


def main():
    torch.manual_seed(33)
    torch.set_default_dtype(torch.float64)  # what float32 computes is compared with what is right
    write("sequences.json", {
        "recurrences": [recurrence(cell, order, output, lengths)
                        for cell in ("lstm", "gru", "rnn_tanh", "rnn_relu")
                        for order in ("forward", "backward")
                        for output, lengths in (("all", [5, 2, 4]), ("last", [1, 5, 3]))],
        "ctc": [ctc(8, 5, 0, [[0, 1, 1, 3], [], [2], [0, 0, 0]], [8, 8, 8, 8], 2),
                ctc(6, 4, 2, [[0, 1, 2], [1, 1], [0]], [6, 3, 1], 5),
                ctc(40, 11, 10, [[3, 1, 4, 1, 5, 9, 2, 6], [7, 7, 7, 7]], [40, 33], 3)],
        "tokens": [tokens([4, 4, 4], 0), tokens([3, 0, 1], 0.1)]})


if __name__ == "__main__":
    main()

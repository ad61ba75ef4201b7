#!/usr/bin/env python3
"""Makes attention.json beside it: PyTorch's numbers for attention and for positions that are
learned or rotated.

Run by hand (Debian: python3-torch), as make_golden.py. Sequences are [examples, time, features].
"""
import math

import torch

from make_golden import numbers, write


def floats(*shape):
    """The nearest numbers that a float has: what a test reads is what was computed with."""
    return torch.randn(*shape).float().double().requires_grad_()


def by_heads(x, heads):
    examples, time, features = x.shape
    return x.reshape(examples, time, heads, features // heads).transpose(1, 2)


def attend(q, k, v, heads, causal, lengths):
    scores = by_heads(q, heads) @ by_heads(k, heads).transpose(2, 3)
    scores = scores / math.sqrt(q.shape[2] // heads)
    keys = k.shape[1]
    hidden = torch.arange(keys)[None, None, None, :] >= torch.tensor(lengths)[:, None, None, None]
    if causal:
        hidden = hidden | torch.ones(keys, keys, dtype=torch.bool).triu(1)
    probabilities = scores.masked_fill(hidden, -math.inf).softmax(-1)
    return (probabilities @ by_heads(v, heads)).transpose(1, 2).reshape(q.shape)


def attention_case(examples, queries, keys, features, heads, causal=False, lengths=None):
    q = floats(examples, queries, features)
    k, v = floats(examples, keys, features), floats(examples, keys, features)
    y = attend(q, k, v, heads, causal, lengths or [keys] * examples)
    upstream = floats(*y.shape)
    y.backward(upstream)
    return {"examples": examples, "queries": queries, "keys": keys, "features": features,
            "heads": heads, "causal": causal, "lengths": lengths or [],
            "q": numbers(q), "k": numbers(k), "v": numbers(v), "upstream": numbers(upstream),
            "y": numbers(y), "q_gradient": numbers(q.grad), "k_gradient": numbers(k.grad),
            "v_gradient": numbers(v.grad)}


def rope_case(examples, time, features, heads, theta):
    """Pairs of neighbouring features as complex numbers, as Su and others have it."""
    x = floats(examples, time, features)
    pairs = features // heads // 2
    angle = torch.outer(torch.arange(time, dtype=torch.float64),
                        theta ** (-torch.arange(pairs, dtype=torch.float64) / pairs))
    turn = torch.polar(torch.ones_like(angle), angle)[None, :, None, :]
    as_complex = torch.view_as_complex(x.reshape(examples, time, heads, pairs, 2))
    y = torch.view_as_real(as_complex * turn).reshape(x.shape)
    upstream = floats(*y.shape)
    y.backward(upstream)
    return {"examples": examples, "time": time, "features": features, "heads": heads,
            "theta": theta, "x": numbers(x), "upstream": numbers(upstream), "y": numbers(y),
            "x_gradient": numbers(x.grad)}


def positions_case(examples, time, length, features):
    x = floats(examples, time, features)
    table = torch.nn.Embedding(length, features).double()
    with torch.no_grad():
        table.weight.copy_(floats(length, features))
    y = x + table(torch.arange(time))
    upstream = floats(*y.shape)
    y.backward(upstream)
    return {"examples": examples, "time": time, "length": length, "features": features,
            "x": numbers(x), "table": numbers(table.weight), "upstream": numbers(upstream),
            "y": numbers(y), "table_gradient": numbers(table.weight.grad)}


def main():
    torch.manual_seed(13)
    torch.set_default_dtype(torch.float64)
    write("attention.json", {
        "attention": [attention_case(2, 5, 5, 6, 2), attention_case(2, 7, 7, 8, 2, causal=True),
                      attention_case(2, 3, 9, 4, 1),
                      attention_case(3, 6, 6, 4, 2, lengths=[6, 1, 4]),
                      attention_case(2, 6, 6, 4, 1, causal=True, lengths=[2, 6])],
        "rope": [rope_case(2, 6, 8, 2, 10000), rope_case(1, 40, 4, 1, 100)],
        "positions": [positions_case(3, 4, 4, 3), positions_case(2, 3, 5, 2)]})


if __name__ == "__main__":
    main()

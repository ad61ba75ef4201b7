#!/usr/bin/env python3
"""Makes norms.json beside it: PyTorch's numbers for normalisations.

Run by hand (Debian: python3-torch), as make_golden.py. Images are [examples, height, width,
channels] in the file, as ours are.
"""
import torch
from torch import nn
from torch.nn import functional

from make_golden import numbers, write


def images(tensor):
    """[examples, channels, ...] with the channels last."""
    return numbers(tensor.movedim(1, -1))


def with_gradients(shape, channels, normalize, flatten, offset=True):
    """`normalize` of (x, scale, offset), and what flows back."""
    x = (torch.randn(*shape) * 2 + 1).requires_grad_()
    scale = torch.randn(channels, requires_grad=True)
    shift = torch.randn(channels, requires_grad=True)
    y = normalize(x, scale, shift)
    upstream = torch.randn_like(y)
    y.backward(upstream)
    result = {"x": flatten(x), "scale": numbers(scale), "upstream": flatten(upstream),
              "y": flatten(y), "x_gradient": flatten(x.grad), "scale_gradient": numbers(scale.grad)}
    if offset:
        result |= {"offset": numbers(shift), "offset_gradient": numbers(shift.grad)}
    return x, result


def batch_norm_case(examples, height, width, channels):
    norm = nn.BatchNorm2d(channels, momentum=1.0, affine=False)
    x, case = with_gradients(
        (examples, channels, height, width), channels,
        lambda x, scale, shift: functional.batch_norm(x, None, None, scale, shift, training=True),
        images)
    norm(x.detach())  # momentum 1: its running averages are this batch's
    return case | {"examples": examples, "rows": examples * height * width, "channels": channels,
                   "mean": numbers(norm.running_mean), "variance": numbers(norm.running_var)}


def layer_norm_case(rows, channels):
    _, case = with_gradients(
        (rows, channels), channels,
        lambda x, scale, shift: functional.layer_norm(x, (channels,), scale, shift), numbers)
    return case | {"rows": rows, "channels": channels}


def rms_norm_case(rows, channels):
    def rms_norm(x, scale, _):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * scale
    _, case = with_gradients((rows, channels), channels, rms_norm, numbers, offset=False)
    return case | {"rows": rows, "channels": channels}


def group_norm_case(examples, height, width, groups, channels):
    _, case = with_gradients(
        (examples, channels, height, width), channels,
        lambda x, scale, shift: functional.group_norm(x, groups, scale, shift), images)
    return case | {"examples": examples, "rows": examples * height * width, "channels": channels,
                   "groups": groups}


def main():
    torch.manual_seed(18)
    torch.set_default_dtype(torch.float64)  # what float32 computes is compared with what is right
    write("norms.json", {
        "batch_norm": [batch_norm_case(4, 3, 5, 7), batch_norm_case(2, 1, 1, 3)],
        "layer_norm": [layer_norm_case(5, 7), layer_norm_case(3, 33)],
        "rms_norm": [rms_norm_case(4, 9), rms_norm_case(2, 40)],
        "group_norm": [group_norm_case(2, 3, 4, 2, 6), group_norm_case(3, 2, 2, 1, 5)]})


if __name__ == "__main__":
    main()

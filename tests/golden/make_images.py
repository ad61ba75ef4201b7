#!/usr/bin/env python3
"""Makes images.json beside it: PyTorch's numbers for ops on images.

Run by hand (Debian: python3-torch), as make_golden.py. Images are [examples, height, width,
channels] and kernels [kernel height, kernel width, channels, filters] in the file, as ours are.
"""
import torch
from torch.nn import functional

from make_golden import numbers, write


def nhwc(tensor):
    return numbers(tensor.permute(0, 2, 3, 1))


def window(pixels, size, stride, padding, dilation=(1, 1)):
    return {"pixels": pixels, "size": size, "stride": stride, "padding": padding,
            "dilation": dilation}


def conv2d_case(examples, channels, filters, of):
    x = torch.randn(examples, channels, *of["pixels"], requires_grad=True)
    kernel = torch.randn(filters, channels, *of["size"], requires_grad=True)
    bias = torch.randn(filters, requires_grad=True)
    y = functional.conv2d(x, kernel, bias, of["stride"], of["padding"], of["dilation"])
    upstream = torch.randn_like(y)
    y.backward(upstream)
    return {**of, "examples": examples, "channels": channels, "filters": filters, "x": nhwc(x),
            "kernel": numbers(kernel.permute(2, 3, 1, 0)), "bias": numbers(bias),
            "upstream": nhwc(upstream), "y": nhwc(y), "x_gradient": nhwc(x.grad),
            "kernel_gradient": numbers(kernel.grad.permute(2, 3, 1, 0)),
            "bias_gradient": numbers(bias.grad)}


def depthwise_case(examples, channels, multiplier, of):
    x = torch.randn(examples, channels, *of["pixels"], requires_grad=True)
    kernel = torch.randn(channels * multiplier, 1, *of["size"], requires_grad=True)
    bias = torch.randn(channels * multiplier, requires_grad=True)
    y = functional.conv2d(x, kernel, bias, of["stride"], of["padding"], of["dilation"], channels)
    upstream = torch.randn_like(y)
    y.backward(upstream)
    return {**of, "examples": examples, "channels": channels, "multiplier": multiplier,
            "x": nhwc(x), "kernel": numbers(kernel.permute(2, 3, 0, 1)), "bias": numbers(bias),
            "upstream": nhwc(upstream), "y": nhwc(y), "x_gradient": nhwc(x.grad),
            "kernel_gradient": numbers(kernel.grad.permute(2, 3, 0, 1))}


def pool_case(kind, examples, channels, of):
    x = torch.randn(examples, channels, *of["pixels"], requires_grad=True)
    if kind == "max":
        y = functional.max_pool2d(x, of["size"], of["stride"], of["padding"], of["dilation"])
    else:
        y = functional.avg_pool2d(x, of["size"], of["stride"], of["padding"],
                                  count_include_pad=False)
    upstream = torch.randn_like(y)
    y.backward(upstream)
    return {**of, "kind": kind, "examples": examples, "channels": channels, "x": nhwc(x),
            "upstream": nhwc(upstream), "y": nhwc(y), "x_gradient": nhwc(x.grad)}


def main():
    torch.manual_seed(18)
    torch.set_default_dtype(torch.float64)  # what float32 computes is compared with what is right
    write("images.json", {
        "conv2d": [conv2d_case(2, 3, 5, window((6, 7), (3, 3), (1, 1), (1, 1))),
                   conv2d_case(1, 4, 9, window((8, 5), (5, 2), (1, 1), (2, 0))),
                   conv2d_case(2, 2, 3, window((9, 10), (3, 3), (2, 3), (1, 2))),
                   conv2d_case(1, 3, 4, window((11, 9), (3, 2), (2, 1), (2, 1), (2, 3)))],
        "depthwise": [depthwise_case(2, 5, 1, window((6, 7), (3, 3), (1, 1), (1, 1))),
                      depthwise_case(1, 3, 4, window((9, 8), (3, 5), (2, 1), (1, 3), (2, 1)))],
        "pool": [pool_case(kind, 2, 5, window(*of)) for kind in ("max", "average") for of in
                 (((6, 6), (2, 2), (2, 2), (0, 0)), ((7, 9), (3, 3), (2, 2), (1, 1)),
                  ((5, 8), (4, 2), (1, 3), (2, 0)))],
        "global_avg_pool": [pool_case("average", 2, 3, window((4, 5), (4, 5), (1, 1), (0, 0)))],
    })


if __name__ == "__main__":
    main()

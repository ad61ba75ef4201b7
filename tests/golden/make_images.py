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


def main():
    torch.manual_seed(18)
    torch.set_default_dtype(torch.float64)  # what float32 computes is compared with what is right
    write("images.json", {
        "conv2d": [conv2d_case(2, 3, 5, window((6, 7), (3, 3), (1, 1), (1, 1))),
                   conv2d_case(1, 4, 9, window((8, 5), (5, 2), (1, 1), (2, 0))),
                   conv2d_case(2, 2, 3, window((9, 10), (3, 3), (2, 3), (1, 2))),
                   conv2d_case(1, 3, 4, window((11, 9), (3, 2), (2, 1), (2, 1), (2, 3)))],
    })


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Says of points which class a downloaded model takes them for, with nothing but the standard library.

  predict.py MODEL.safetensors X Y [X Y ...]
"""
import array
import json
import struct
import sys


def read_model(path):
    """The metadata, and {name: values} of a safetensors file of 32-bit floats."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    metadata = header.pop("__metadata__")
    tensors = {name: array.array("f", data[slice(*entry["data_offsets"])]) for name, entry in header.items()}
    return metadata, tensors


def scores(tensors, values):
    """Of each class: dense layers with relu between them."""
    last = sum(name.endswith("/bias") for name in tensors) - 1
    for depth in range(last + 1):
        kernel, bias = tensors[f"dense_{depth}/kernel"], tensors[f"dense_{depth}/bias"]
        units = len(bias)
        values = [b + sum(v * kernel[i * units + u] for i, v in enumerate(values)) for u, b in enumerate(bias)]
        if depth < last:
            values = [max(v, 0.0) for v in values]
    return values


def main():
    if len(sys.argv) < 4 or len(sys.argv) % 2 != 0:
        sys.exit(__doc__.strip().splitlines()[-1].strip())
    metadata, tensors = read_model(sys.argv[1])
    names = json.loads(metadata["class_names"])
    numbers = [float(word) for word in sys.argv[2:]]
    for x, y in zip(numbers[::2], numbers[1::2]):
        of_classes = scores(tensors, [x, y])
        print(f"{x}, {y}: {names[of_classes.index(max(of_classes))]}")


main()

#!/usr/bin/env python3
"""Opens a downloaded model with nothing but the standard library, and tests it on IDX files such as MNIST's."""
import argparse
import array
import gzip
import json
import math
import os
import struct
import sys


def read_model(path):
    """The metadata, and {name: (shape, values)} of a safetensors file: 32-bit floats, ids of rows, and words' bytes."""
    with open(path, "rb") as file:
        (header_length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(header_length))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        kind = {"F32": "f", "I64": "q", "U8": "B"}.get(entry["dtype"])
        if kind is None or end - begin != array.array(kind).itemsize * math.prod(entry["shape"]):
            sys.exit(f"{path}: {name}: {entry} is no tensor of 32-bit floats, 64-bit integers or bytes")
        values = array.array(kind, data[begin:end])
        if sys.byteorder == "big":
            values.byteswap()
        tensors[name] = (entry["shape"], values)
    return metadata, tensors


def words_of(tensors):
    """The words of a text model by their ids; none where ids are no words, but values of a CSV file's columns."""
    _, text = tensors.get("vocabulary", ([0], b""))
    text = bytes(text).decode(errors="replace")
    return [] if text.startswith("field,column,id,value\n") else text.splitlines()


def read_idx(folder, name):
    """The shape and the bytes of an IDX file of unsigned bytes, gzipped or not."""
    path = os.path.join(folder, name)
    if not any(os.path.exists(each) for each in (path, path + ".gz")):
        sys.exit(f"there is no file {path}, nor {path}.gz")
    with gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb") as file:
        magic, dimensions = struct.unpack(">HBB", file.read(4))[1:]
        if magic != 8:
            raise ValueError(f"{path} does not hold unsigned bytes")
        shape = struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
        return shape, file.read(math.prod(shape))


def layers_of(tensors):
    """[(rows of the kernel, bias)]: dense_0, dense_1, ... up to the last."""
    layers = []
    while f"dense_{len(layers)}/kernel" in tensors:
        (inputs, outputs), kernel = tensors[f"dense_{len(layers)}/kernel"]
        bias = tensors[f"dense_{len(layers)}/bias"][1]
        rows = [list(kernel[i * outputs:(i + 1) * outputs]) for i in range(inputs)]
        layers.append((rows, list(bias)))
    return layers


ACTIVATIONS = {
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x)),
    "tanh": math.tanh,
    "relu": lambda x: max(x, 0.0),
}


def forward(layers, activation, values):
    """The outputs before the softmax; zeros, most of an image, are skipped."""
    for depth, (rows, bias) in enumerate(layers):
        total = bias
        for value, row in zip(values, rows):
            if value:
                total = [t + value * weight for t, weight in zip(total, row)]
        values = total if depth == len(layers) - 1 else [activation(t) for t in total]
    return values


def accuracy(layers, activation, folder, limit):
    (count, *image_shape), pixels = read_idx(folder, "t10k-images-idx3-ubyte")
    labels = read_idx(folder, "t10k-labels-idx1-ubyte")[1]
    size = math.prod(image_shape)
    count = min(count, limit or count)
    right = 0
    for i in range(count):
        image = [pixel / 255 for pixel in pixels[i * size:(i + 1) * size]]
        outputs = forward(layers, activation, image)
        right += outputs.index(max(outputs)) == labels[i]
    return right / count, count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="the downloaded .safetensors file")
    parser.add_argument("data", nargs="?", help="folder of IDX files, to test the model on")
    parser.add_argument("--activation", choices=ACTIVATIONS, help="of the hidden layers, if the file does not say")
    parser.add_argument("--limit", type=int, help="only the first so many images")
    arguments = parser.parse_args()

    metadata, tensors = read_model(arguments.model)
    for key, value in sorted(metadata.items()):
        print(f"{key}: {value}")
    if words := words_of(tensors):
        print(f"words: {len(words)}, the most frequent: {' '.join(words[2:12])}")
    for name, (shape, values) in tensors.items():
        print(f"{name} {shape}: from {min(values):.4f} to {max(values):.4f}" if values else f"{name} {shape}")
    if arguments.data:
        activation = ACTIVATIONS[arguments.activation or metadata.get("activation", "sigmoid")]
        share, count = accuracy(layers_of(tensors), activation, arguments.data, arguments.limit)
        print(f"accuracy on {count} images: {share:.4f}")


if __name__ == "__main__":
    main()

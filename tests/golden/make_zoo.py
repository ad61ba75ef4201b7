#!/usr/bin/env python3
"""Makes zoo.json beside it: how many parameters PyTorch's own modules have in the zoo's models.

Run by hand (Debian: python3-torch) when a model is added; the file is committed, so that tests need
no PyTorch. A case has a model's name, its arguments, the facts of a data set and the count. Rows of
embedding tables that lie on parameter servers ("storage": "rows") are not counted. PyTorch's LSTM
has two biases where ours has one: the second is left out, as are those of the GRU's gates r and z;
the GRU's new gate has both, since the reset gate scales one of them.
"""
import json
import pathlib

from torch import nn

HERE = pathlib.Path(__file__).parent


def count(module):
    total = 0
    for name, parameter in module.named_parameters():
        if "bias_hh" in name:
            gates = parameter.numel()
            total += gates // 3 if name in module_gru_biases(module) else 0
        else:
            total += parameter.numel()
    return total


def module_gru_biases(module):
    """The names of the recurrent biases that belong to a GRU somewhere in the module."""
    names = set()
    for prefix, part in module.named_modules():
        if isinstance(part, nn.GRU):
            names |= {f"{prefix}.{name}" if prefix else name
                      for name, _ in part.named_parameters() if "bias_hh" in name}
    return names


def stack(widths):
    """Dense layers with relu between them."""
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def lenet5(channels, classes):
    return nn.Sequential(
        nn.Conv2d(channels, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), stack([400, 120, 84, classes]))


def cifar_cnn(channels, classes, filters=(32, 64), units=256, side=32):
    layers = []
    for width in filters:
        layers += [nn.Conv2d(channels, width, 3, padding="same"), nn.BatchNorm2d(width), nn.ReLU(),
                   nn.MaxPool2d(2)]
        channels, side = width, side // 2
    return nn.Sequential(*layers, nn.Flatten(), stack([channels * side * side, units, classes]))


class Basic(nn.Module):
    expansion = 1

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))
        if stride != 1 or inputs != width:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False),
                                          nn.BatchNorm2d(width))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, width, stride):
        super().__init__()
        out = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out))
        if stride != 1 or inputs != out:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, out, 1, stride, bias=False),
                                          nn.BatchNorm2d(out))


def resnet(kind, depths, stem, channels, classes):
    kernel = 7 if stem == "imagenet" else 3
    parts = [nn.Conv2d(channels, 64, kernel, bias=False), nn.BatchNorm2d(64)]
    inputs = 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for block in range(depth):
            parts.append(kind(inputs, width, 2 if stage > 0 and block == 0 else 1))
            inputs = width * kind.expansion
    return nn.Sequential(*parts, nn.Linear(inputs, classes))


def vgg11(channels, classes, side, batch_norm):
    layers = []
    for width in [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"]:
        if width == "M":
            side //= 2
            continue
        layers.append(nn.Conv2d(channels, width, 3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(width))
        channels = width
    return nn.Sequential(*layers, stack([512 * side * side, 4096, 4096, classes]))


def recurrent(kind, vocabulary, classes, size=128, units=128, layers=1, bidirectional=True):
    ways = 2 if bidirectional else 1
    return nn.ModuleList([nn.Embedding(vocabulary, size),
                          kind(size, units, layers, bidirectional=bidirectional),
                          nn.Linear(ways * units, classes)])


def crnn(symbols, channels=1, height=32, units=128):
    return nn.ModuleList([nn.Conv2d(channels, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1),
                          nn.Conv2d(64, 128, 3, padding=1),
                          nn.LSTM(128 * (height // 8), units, bidirectional=True),
                          nn.Linear(2 * units, symbols)])


def transformer_block(width, mlp):
    return nn.ModuleList([nn.LayerNorm(width), nn.MultiheadAttention(width, 1),
                          nn.LayerNorm(width), nn.Linear(width, mlp), nn.Linear(mlp, width)])


def gpt(vocabulary, length, width, depth, tied=True):
    parts = [nn.Embedding(vocabulary, width), nn.Embedding(length, width)]
    parts += [transformer_block(width, 4 * width) for _ in range(depth)]
    parts.append(nn.LayerNorm(width))
    if not tied:
        parts.append(nn.Linear(width, vocabulary, bias=False))
    return nn.ModuleList(parts)


def transformer_classifier(vocabulary, length, classes, width=128, depth=2):
    return nn.ModuleList([gpt(vocabulary, length, width, depth), nn.Linear(width, classes)])


def deepfm(numbers, fields, size=16, hidden=(400, 400)):
    return stack([fields * size + numbers, *hidden, 1])


def dlrm(numbers, fields, size=16, bottom=(512, 256), top=(512, 256)):
    vectors = fields + 1
    return nn.ModuleList([stack([numbers, *bottom, size]),
                          stack([vectors * (vectors - 1) // 2 + size, *top, 1])])


def two_tower(size=32, hidden=(64,), out=32):
    return nn.ModuleList([stack([size, *hidden, out]), stack([size, *hidden, out])])


IMAGE = {"image": [28, 28, 1], "classes": 10}
COLOR = {"image": [32, 32, 3], "classes": 10}
LARGE = {"image": [224, 224, 3], "classes": 1000}
REVIEWS = {"tokens": 256, "vocabulary": 20000, "classes": 2}
LINES = {"image": [32, 128, 1], "symbols": 11}
TEXT = {"tokens": 128, "vocabulary": 96}
WEB = {"tokens": 1024, "vocabulary": 50257}
CRITEO = {"numeric": 13, "categorical": 26}
RATINGS = {"user": 671, "item": 9066}

CASES = [
    ("linear_regression", {}, {"features": 13}, nn.Linear(13, 1)),
    ("logistic_regression", {}, {"features": 30, "classes": 2}, nn.Linear(30, 1)),
    ("softmax_regression", {}, {"features": 784, "classes": 10}, nn.Linear(784, 10)),
    ("mlp", {}, {"features": 784, "classes": 10}, stack([784, 100, 10])),
    ("mlp", {"hidden": [300, 100], "activation": "relu"}, {"features": 784, "classes": 10},
     stack([784, 300, 100, 10])),
    ("mlp", {"hidden": []}, {"features": 784, "classes": 10}, stack([784, 10])),
    ("wide_and_deep", {}, {"sparse": 100000, "classes": 2}, stack([16, 100, 1])),
    ("lenet5", {}, IMAGE, lenet5(1, 10)),
    ("cifar_cnn", {}, COLOR, cifar_cnn(3, 10)),
    ("cifar_cnn", {"filters": [16, 32, 64], "units": 128}, COLOR,
     cifar_cnn(3, 10, (16, 32, 64), 128)),
    ("resnet18", {}, LARGE, resnet(Basic, [2, 2, 2, 2], "imagenet", 3, 1000)),
    ("resnet34", {}, LARGE, resnet(Basic, [3, 4, 6, 3], "imagenet", 3, 1000)),
    ("resnet50", {}, LARGE, resnet(Bottleneck, [3, 4, 6, 3], "imagenet", 3, 1000)),
    ("resnet18", {"stem": "cifar"}, COLOR, resnet(Basic, [2, 2, 2, 2], "cifar", 3, 10)),
    ("resnet18", {"stem": "cifar"}, IMAGE, resnet(Basic, [2, 2, 2, 2], "cifar", 1, 10)),
    ("resnet50", {"stem": "cifar"}, COLOR, resnet(Bottleneck, [3, 4, 6, 3], "cifar", 3, 10)),
    ("vgg11", {}, LARGE, vgg11(3, 1000, 224, False)),
    ("vgg11", {"batch_norm": True}, LARGE, vgg11(3, 1000, 224, True)),
    ("vgg11", {}, COLOR, vgg11(3, 10, 32, False)),
    ("lstm_classifier", {}, REVIEWS, recurrent(nn.LSTM, 20000, 2)),
    ("lstm_classifier", {"depth": 2, "units": 64, "embedding_size": 32}, REVIEWS,
     recurrent(nn.LSTM, 20000, 2, 32, 64, 2)),
    ("lstm_classifier", {"direction": "forward"}, REVIEWS,
     recurrent(nn.LSTM, 20000, 2, bidirectional=False)),
    ("gru_classifier", {}, REVIEWS, recurrent(nn.GRU, 20000, 2)),
    ("gru_classifier", {"depth": 2, "units": 64}, REVIEWS,
     recurrent(nn.GRU, 20000, 2, 128, 64, 2)),
    ("crnn", {}, LINES, crnn(11)),
    ("crnn", {"units": 64}, {"image": [48, 256, 3], "symbols": 80}, crnn(80, 3, 48, 64)),
    ("gpt", {}, TEXT, gpt(96, 128, 128, 4)),
    ("gpt", {"tie": False}, TEXT, gpt(96, 128, 128, 4, False)),
    ("gpt2_small", {}, WEB, gpt(50257, 1024, 768, 12)),
    ("transformer_classifier", {}, REVIEWS, transformer_classifier(20000, 256, 2)),
    ("deepfm", {}, CRITEO, deepfm(13, 26)),
    ("deepfm", {"embedding_size": 8, "hidden": [64]}, CRITEO, deepfm(13, 26, 8, (64,))),
    ("deepfm", {}, {"categorical": 26}, deepfm(0, 26)),
    ("dlrm", {}, CRITEO, dlrm(13, 26)),
    ("two_tower", {}, RATINGS, two_tower()),
]


def main():
    lines = [json.dumps({"name": name, "arguments": arguments, "facts": facts,
                         "parameters": count(module)})
             for name, arguments, facts, module in CASES]
    (HERE / "zoo.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


main()

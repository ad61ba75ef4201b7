#!/usr/bin/env python3
"""Makes bad_models.jsonl beside it: models with faults, where each is to be found, and a part of what is said.

Run by hand when the language changes; the file is committed and read by bad_models_test.cpp. What is
expected was written here by hand, from the language's rules, never taken from what the program says.
"""
import copy
import json
import pathlib

HERE = pathlib.Path(__file__).parent
CASES = []


def bad(dataset, model, *faults, **setting):
    CASES.append({"dataset": dataset, "model": model, "faults": list(faults), **setting})


def layers(*layers_, loss="softmax_cross_entropy", **rest):
    return {"layers": list(layers_), "loss": loss, **rest}


HEAD = {"op": "dense", "units": "classes"}
CONV = {"op": "conv2d", "filters": 8, "kernel": 3}


def one(dataset, layer, pointer, part, *before, after=("flatten", HEAD), loss="softmax_cross_entropy"):
    """A layer at fault between right ones; `pointer` is below it."""
    model = layers(*before, layer, *after, loss=loss)
    bad(dataset, model, [f"/model/layers/{len(before)}{pointer}", part])


# The document as a whole.
bad("cifar", {"layers": [], "loss": "softmax_cross_entropy"}, ["/model/layers", ""])
bad("cifar", layers("flatten", "dense"), ["/model/layers/1", 'dense needs "units"'])
bad("cifar", layers("flatten", HEAD, loss="softmax"), ["/model/loss", 'there is no loss "softmax"'])
bad("cifar", layers("flatten", HEAD, loss="softmax_cross_entropi"), ["/model/loss", 'did you mean "softmax_cross_entropy"?'])
bad("cifar", layers("flatten", HEAD, loss=["squared_eror"]), ["/model/loss/0", 'did you mean "squared_error"?'])
bad("cifar", layers("flatten", HEAD, metrics=["acuracy"]), ["/model/metrics/0", 'did you mean "accuracy"?'])
bad("cifar", layers("flatten", HEAD, metrics=["accuracy", {"op": "top_k"}]), ["/model/metrics/1", 'top_k needs "k"'])
bad("cifar", layers("flatten", HEAD, init="he"), ["/model/init", "must be one of zeros"])
bad("cifar", layers("flatten", HEAD, init={"name": "normal", "stddev": -1}), ["/model/init/stddev", "must be a number from"])
bad("cifar", layers("flatten", HEAD, init={"name": "he_normal", "stddev": 1}), ["/model/init/stddev", 'he_normal has no "stddev"'])
bad("cifar", layers("flatten", HEAD, init={"stddev": 1}), ["/model/init", 'an initialiser needs "name"'])
bad("cifar", layers("flatten", HEAD, blocks={"b": {"layers": ["relu"]}}), ["/model/blocks/b", 'no layer uses the block "b"'])

# Ops that are none.
for name, part in [("conv2", 'did you mean "conv2d"?'), ("Dense", "must be a name"), ("max_pool", "there is no op"),
                   ("batchnorm", 'did you mean "batch_norm"?'), ("reul", 'there is no op "reul"'),
                   ("softmax_cross_entropy", "it is a loss"), ("accuracy", "it is a metric"), ("ctc", "it is a loss"),
                   ("variable", "there is no op"), ("input", "there is no op"), ("dropuot", 'there is no op "dropuot"')]:
    one("cifar", name, "", part)
    one("cifar", {"op": name, "name": "x"}, "/op", part)

# Arguments that no op has, and those that are missing.
for layer, pointer, part in [
        ({"op": "dense", "unit": 3, "units": 4}, "/unit", 'did you mean "units"?'),
        ({"op": "conv2d", "filters": 3, "kernel": 3, "strides": 2}, "/strides", 'did you mean "stride"?'),
        ({"op": "conv2d", "filters": 3, "kernel": 3, "groups": 2}, "/groups", 'conv2d has no "groups"'),
        ({"op": "dropout", "p": 0.5}, "/p", 'dropout has no "p"'),
        ({"op": "relu", "slope": 0.5}, "/slope", 'relu has no "slope"'),
        ({"op": "prelu", "slope": 0.5}, "/slope", 'prelu has no "slope"'),
        ({"op": "batch_norm", "epsilom": 0.5}, "/epsilom", 'did you mean "epsilon"?'),
        ({"op": "conv2d", "kernel": 3}, "", 'conv2d needs "filters"'),
        ({"op": "conv2d", "filters": 3}, "", 'conv2d needs "kernel"'),
        ({"op": "depthwise_conv2d"}, "", 'depthwise_conv2d needs "kernel"'),
        ({"op": "max_pool2d"}, "", 'max_pool2d needs "size"'),
        ({"op": "avg_pool2d", "stride": 2}, "", 'avg_pool2d needs "size"'),
        ({"op": "group_norm"}, "", 'group_norm needs "groups"'),
        ({"op": "reshape"}, "", 'reshape needs "shape"'),
        ({"op": "transpose"}, "", 'transpose needs "axes"')]:
    one("cifar", layer, pointer, part)

# Values of the wrong kind or size, one argument at a time.
WRONG = {
    "size": [0, -1, 1.5, 1e300, "many", True, [1], 3000000000],
    "pair": [0, -2, 0.5, "two", [1, 2, 3], [], True, 100000],
    "padding": [-1, 0.5, "valid", [1, 2, 3], True],
    "flag": [0, 1, "yes", [True]],
    "rate": [-0.1, 1, 2, "half", True],
    "init": ["xavier", 3, {"name": "normal", "stddev": 0}, {"name": "constant", "value": "x"}],
}
WHERE = {
    "size": [(CONV, "filters")],
    "pair": [(CONV, "kernel"), (CONV, "stride"), ({"op": "max_pool2d", "size": 2}, "size")],
    "padding": [(CONV, "padding"), ({"op": "avg_pool2d", "size": 3}, "padding")],
    "flag": [(CONV, "bias"), ({"op": "batch_norm"}, "scale"), (CONV, "freeze"), ("relu", "recompute")],
    "rate": [({"op": "dropout"}, "rate")],
    "init": [(CONV, "init"), (CONV, "bias_init")],
}
for kind, places in WHERE.items():
    for layer, name in places:
        for value in WRONG[kind]:
            changed = {"op": layer} if isinstance(layer, str) else copy.deepcopy(layer)
            changed[name] = value
            below = f"/{name}"
            if kind == "init" and isinstance(value, dict):
                below += "/stddev" if "stddev" in value else "/value"
            one("cifar", changed, below, "must be")
one("cifar", {"op": "conv2d", "filters": 3, "kernel": [3, 0]}, "/kernel/1", "must be a whole number from 1")
one("cifar", {"op": "conv2d", "filters": 3, "kernel": 3, "padding": [1, -1]}, "/padding/1", "must be a whole number from 0")
one("cifar", {"op": "conv2d", "filters": 3, "kernel": 3, "activation": "rleu"}, "/activation", "must be one of")
one("cifar", {"op": "reduce", "kind": "product", "axes": [0, 1]}, "/kind", "must be one of sum, mean, max")
one("cifar", {"op": "reshape", "shape": []}, "/shape", "must be a list of 1 to 6")
one("cifar", {"op": "reshape", "shape": [1, 1, 1, 1, 1, 1, -1]}, "/shape", "must be a list of 1 to 6")
one("cifar", {"op": "reshape", "shape": [0, -1]}, "/shape", "size of 0")
one("cifar", {"op": "reshape", "shape": [-1, -1]}, "/shape", "may leave one size")
one("cifar", {"op": "reshape", "shape": [7, -1]}, "/shape", "do not fill [7, -1]")
one("cifar", {"op": "reshape", "shape": [3073]}, "/shape", "has 3,072 numbers")

for value in (101, -101, "he_normal", {"name": "constant", "value": 0.25}, [0.25], True):
    one("cifar", {"op": "prelu", "init": value}, "/init", "must be a number from -100 to 100")
one("cifar", "prelu", "", "prelu reads [.., channels]", {"op": "reduce", "kind": "sum", "axes": [0, 1, 2]}, after=())
one("cifar", {"op": "dense", "units": 4, "activation": "prelu"}, "/activation", "must be one of")  # it has a variable

# Facts of the data set.
bad("lines", layers("flatten", {"op": "dense", "units": 3}, {"op": "reshape", "shape": [1, 3]}, "relu", {"op": "dense", "units": "vocabulary"},
                    loss={"op": "ctc"}),
    ["/model/layers/4/units", 'the data set "lines" has no "vocabulary" (it has: symbols, features)'])
bad("web", layers({"op": "embedding", "size": 8}, {"op": "dense", "units": "classes"}, loss={"op": "softmax_cross_entropy", "per": "token"}),
    ["/model/layers/1/units", 'the data set "web" has no "classes" (it has: vocabulary)'])
bad("ratings", {"inputs": {"u": "userId", "i": "movieId"},
                "layers": [{"op": "embedding", "in": "u", "size": 4, "name": "a"},
                           {"op": "embedding", "in": "i", "size": "features", "name": "b"}],
                "loss": {"op": "in_batch_softmax", "in": ["a", "b"]}},
    ["/model/layers/1/size", 'has no "features" (it has none of these facts)'])

# Windows that do not fit.
SMALL = [CONV, {"op": "max_pool2d", "size": 2}, {"op": "conv2d", "filters": 16, "kernel": 3}, {"op": "max_pool2d", "size": 2}]
bad("digits", layers(*SMALL, "relu", "relu", {"op": "conv2d", "filters": 4, "kernel": 7}, "flatten", HEAD),
    ["/model/layers/6/kernel", 'conv2d: a kernel of 7 x 7 does not fit into the 5 x 5 x 16 that "relu_1" gives'])
bad("digits", layers(*SMALL, {"op": "conv2d", "filters": 4, "kernel": 7}, "flatten", HEAD),
    ["/model/layers/4/kernel", 'conv2d: a kernel of 7 x 7 does not fit into the 5 x 5 x 16 that "max_pool2d_1" gives'])
bad("digits", layers(*SMALL, {"op": "conv2d", "filters": 4, "kernel": [1, 6]}, "flatten", HEAD),
    ["/model/layers/4/kernel", "a kernel of 1 x 6 does not fit into the 5 x 5 x 16"])
bad("digits", layers(*SMALL, {"op": "conv2d", "filters": 4, "kernel": 3, "dilation": 3}, "flatten", HEAD),
    ["/model/layers/4/kernel", "dilated by 3 x 3"])
bad("digits", layers(*SMALL, {"op": "conv2d", "filters": 4, "kernel": 9, "padding": 1}, "flatten", HEAD),
    ["/model/layers/4/kernel", "with a padding of 1 x 1"])
bad("digits", layers(*SMALL, {"op": "depthwise_conv2d", "kernel": 6}, "flatten", HEAD),
    ["/model/layers/4/kernel", "depthwise_conv2d: a kernel of 6 x 6 does not fit"])
bad("digits", layers(*SMALL, {"op": "max_pool2d", "size": 6}, "flatten", HEAD),
    ["/model/layers/4/size", "max_pool2d: a window of 6 x 6 does not fit"])
bad("digits", layers(*SMALL, {"op": "avg_pool2d", "size": [2, 8]}, "flatten", HEAD),
    ["/model/layers/4/size", "avg_pool2d: a window of 2 x 8 does not fit"])
for padding in (2, [0, 2], [2, 0]):
    one("digits", {"op": "max_pool2d", "size": 3, "padding": padding}, "/padding", "is more than half of the window of 3 x 3")
bad("series", layers({"op": "conv1d", "filters": 4, "kernel": 29}, "flatten", HEAD),
    ["/model/layers/0/kernel", "conv1d: a kernel of 29 does not fit into the 28 x 28"])
bad("series", layers({"op": "conv1d", "filters": 4, "kernel": 3, "padding": [1, 2]}, "flatten", HEAD),
    ["/model/layers/0/padding", "must be one whole number"])

# Shapes that an op does not read.
for dataset, layer, part in [
        ("vectors", CONV, 'conv2d reads [height, width, channels], but "features" gives [20]'),
        ("series", CONV, "conv2d reads [height, width, channels]"),
        ("vectors", {"op": "max_pool2d", "size": 2}, "max_pool2d reads [height, width, channels]"),
        ("vectors", {"op": "depthwise_conv2d", "kernel": 2}, "depthwise_conv2d reads [height, width, channels]"),
        ("vectors", "global_avg_pool", "global_avg_pool reads [.., channels]"),
        ("cifar", {"op": "conv1d", "filters": 2, "kernel": 3}, "conv1d reads [time, features]"),
        ("cifar", {"op": "lstm", "units": 4}, "lstm reads [time, features]"),
        ("cifar", {"op": "gru", "units": 4}, "gru reads [time, features]"),
        ("vectors", {"op": "rnn", "units": 4}, "rnn reads [time, features]"),
        ("cifar", {"op": "attention", "heads": 1}, "attention reads [time, features]"),
        ("cifar", "positions", "positions reads [time, features]"),
        ("cifar", "rope", "rope reads [time, features]"),
        ("cifar", "fm", "fm reads [fields, features]"),
        ("cifar", "pairwise_dot", "pairwise_dot reads [fields, features]"),
        ("vectors", {"op": "group_norm", "groups": 2}, "group_norm reads [.., channels]"),
        ("vectors", {"op": "embedding", "size": 3}, "embedding reads ids, but"),
        ("vectors", {"op": "embedding_bag", "size": 3}, "embedding_bag reads sparse rows, but"),
        ("reviews", {"op": "embedding_bag", "size": 3}, 'gives ids'),
        ("sparse", {"op": "embedding", "size": 3}, 'gives sparse rows'),
        ("reviews", {"op": "lstm", "units": 3}, "lstm reads numbers, but \"tokens\" gives ids"),
        ("reviews", "relu", "an embedding makes numbers of them"),
        ("sparse", "relu", "relu reads numbers, but \"features\" gives sparse rows"),
        ("sparse", "batch_norm", "gives sparse rows"),
        ("reviews", {"op": "dense", "units": 3}, 'dense reads numbers, but "tokens" gives ids')]:
    one(dataset, layer, "", part)

# Sizes that do not divide, axes that are not there.
one("series", {"op": "attention", "heads": 5}, "/heads", "the 28 features of \"features\" are no multiple of 5 heads")
one("series", {"op": "rope", "heads": 4}, "/heads", "each head has 7 features")
one("series", {"op": "group_norm", "groups": 3}, "/groups", "are no multiple of 3 groups")
one("cifar", {"op": "transpose", "axes": [0, 1]}, "/axes", "must name all 3 axes")
one("cifar", {"op": "transpose", "axes": [0, 1, 1]}, "/axes", "names the axis 1 twice")
one("cifar", {"op": "transpose", "axes": [0, 1, 3]}, "/axes", "there is no axis 3")
one("cifar", {"op": "reduce", "axes": 3}, "/axes", "there is no axis 3")
one("cifar", {"op": "reduce", "axes": [0, -3]}, "/axes", "names the axis 0 twice")
one("cifar", {"op": "slice", "begin": 3}, "/begin", "slice: there are 3 along axis 2")
one("cifar", {"op": "slice", "axis": 0, "begin": 30, "size": 3}, "/size", "there are 2 from 30 on, not 3")
one("cifar", {"op": "slice", "axis": 4}, "/axis", "there is no axis 4")
one("cifar", {"op": "pad", "before": [1, 1]}, "/before", "must have a number for each of the 3 axes")
one("cifar", {"op": "pad", "before": [1, 1, -1]}, "/before/2", "must be a whole number from 0")
one("cifar", {"op": "clip", "least": 2, "most": 1}, "/least", 'must be at most "most"')
one("web", {"op": "positions", "length": 1000}, "/length", "is 1024 long, more than 1000", {"op": "embedding", "size": 4},
    after=({"op": "dense", "units": "vocabulary"},), loss={"op": "softmax_cross_entropy", "per": "token"})
one("web", {"op": "embedding", "size": 4, "ids": 50000}, "/ids", "has 50,257 ids, more than 50,000",
    after=({"op": "dense", "units": "vocabulary"},), loss={"op": "softmax_cross_entropy", "per": "token"})

# Names and edges.
A = {"op": "dense", "units": 4, "name": "a"}
bad("vectors", layers(A, {"op": "relu", "in": "b"}, HEAD), ["/model/layers/1/in", 'no input and no layer above has the name "b"'])
bad("vectors", layers(A, {"op": "relu", "in": "z"}, {"op": "dense", "units": 4, "name": "z"}, HEAD),
    ["/model/layers/1/in", '"z" stands further down'])
bad("vectors", layers({"op": "add", "in": ["features", "nope"]}, HEAD), ["/model/layers/0/in/1", 'has the name "nope"'])
bad("vectors", layers({"op": "dense", "units": 4, "name": "towr"}, {"op": "relu", "in": "tower"}, HEAD),
    ["/model/layers/1/in", 'did you mean "towr"?'])
bad("vectors", layers(A, {"op": "dense", "units": 3, "name": "a"}, HEAD), ["/model/layers/1/name", 'have the name "a"'])
bad("vectors", layers({"op": "dense", "units": 4, "name": "features"}, HEAD), ["/model/layers/0/name", 'have the name "features"'])
bad("vectors", layers({"op": "dense", "units": 4, "name": "dense_1"}, "relu", {"op": "dense", "units": 4}, HEAD),
    ["/model/layers/2", 'have the name "dense_1"'])
for name in ("A", "1a", "a-b", "a/b", "ä", "a" * 65, " "):
    bad("vectors", layers({"op": "dense", "units": 4, "name": name}, HEAD), ["/model/layers/0/name", "must be"])
bad("vectors", layers({"op": "relu", "in": ["features", "features"]}, HEAD), ["/model/layers/0/in", 'relu reads 1 input, "in" names 2'])
bad("vectors", layers({"op": "sub", "in": ["features"]}, HEAD), ["/model/layers/0/in", 'sub reads 2 inputs, "in" names 1'])
bad("vectors", layers("add", HEAD), ["/model/layers/0", "add reads 2 inputs or more"])
bad("vectors", layers("sdpa", HEAD), ["/model/layers/0", "sdpa reads 3 inputs"], ["/model/layers/0", 'sdpa needs "heads"'])
bad("criteo", layers("flatten", HEAD), ["/model/layers/0", 'needs "in", as there are several inputs: numeric, categorical'])
bad("criteo", layers({"op": "relu", "in": "-"}, HEAD), ["/model/layers/0/in", "there is no layer above"])
bad("criteo", {"inputs": {"n": "numerc"}, "layers": [HEAD], "loss": "softmax_cross_entropy"},
    ["/model/inputs/n", 'has no field "numerc" (it has: numeric, categorical); did you mean "numeric"?'])
bad("criteo", {"inputs": {"N": "numeric"}, "layers": [HEAD], "loss": "softmax_cross_entropy"}, ["/model/inputs", "the key must be a name"])
bad("criteo", {"inputs": {"n": "numeric", "c": "categorical"}, "layers": [{"op": "dense", "units": 2, "in": "n"}], "loss": "softmax_cross_entropy"},
    ["/model/inputs/c", 'nothing reads "c"'])
bad("vectors", layers(A, {"op": "dense", "units": 4, "in": "features"}, HEAD), ["/model/layers/0", 'nothing reads "a"'])
bad("vectors", layers(A, HEAD, loss={"op": "softmax_cross_entropy", "in": "a"}), ["/model/loss/in", "gives 4 scores"], ["/model/layers/1", 'nothing reads "dense_1"'])
bad("vectors", layers(A, HEAD, loss={"op": "softmax_cross_entropy", "in": "b"}), ["/model/loss/in", 'no layer has the name "b"'])

# Ties.
WTE = {"op": "embedding", "size": 8, "name": "wte"}
TOKEN = {"op": "softmax_cross_entropy", "per": "token"}
bad("web", layers(WTE, {"op": "dense", "units": "vocabulary", "tie": "wt"}, loss=TOKEN), ["/model/layers/1/tie", 'has the name "wt"'])
bad("web", layers(WTE, {"op": "relu", "name": "r"}, {"op": "dense", "units": "vocabulary", "tie": "r"}, loss=TOKEN),
    ["/model/layers/2/tie", 'has no kernel to be tied to'])
bad("web", layers(WTE, {"op": "dense", "units": 9}, {"op": "dense", "units": "vocabulary", "tie": "wte"}, loss=TOKEN),
    ["/model/layers/2/tie", '"wte/kernel" is [50257, 8], and [50257, 9] is needed'])
bad("web", layers({**WTE, "storage": "rows"}, {"op": "dense", "units": "vocabulary", "tie": "wte"}, loss=TOKEN),
    ["/model/layers/1/tie", "nothing can be tied to them"])
bad("web", layers(WTE, {"op": "dense", "units": "vocabulary", "tie": 3}, loss=TOKEN), ["/model/layers/1/tie", "must be the name of a layer"])

# Values that do not go together.
bad("vectors", layers(A, {"op": "dense", "units": 3, "in": "features", "name": "b"}, {"op": "add", "in": ["a", "b"]}, HEAD),
    ["/model/layers/2", 'add: [3] of "b" does not go with [4] of "a"'])
bad("digits", layers({**CONV, "name": "a"}, {"op": "conv2d", "filters": 2, "kernel": 5, "in": "image", "name": "b"}, {"op": "concat", "in": ["a", "b"]}, "flatten", HEAD),
    ["/model/layers/2", "does not go beside"])
bad("series", layers({"op": "matmul", "in": ["features", "features"], "name": "ok"}, {"op": "slice", "axis": 0, "size": 3, "in": "features", "name": "s"},
                     {"op": "matmul", "in": ["ok", "s"]}, "flatten", HEAD), ["/model/layers/2", "matmul: [28, 28]"])
bad("vectors", layers({"op": "matmul", "in": ["features", "features"]}, HEAD), ["/model/layers/0", "matmul reads [.., rows, columns]"])
bad("digits", layers({"op": "conv2d", "filters": 64, "kernel": 1}, "relu", "relu",
                     {"residual": [{"op": "conv2d", "filters": 128, "kernel": 3, "padding": 1}]}, "global_avg_pool", HEAD),
    ["/model/layers/3/residual", 'these layers give [28, 28, 128], the shortcut [28, 28, 64]; add a "shortcut" with a convolution of 128 filters'])
bad("digits", layers({"residual": [{"op": "conv2d", "filters": 2, "kernel": 3, "padding": 1, "stride": 2}]}, "flatten", HEAD),
    ["/model/layers/0/residual", 'add a "shortcut" with a convolution of 2 filters and a stride of 2'])
bad("digits", layers({"residual": [CONV], "shortcut": [{"op": "conv2d", "filters": 8, "kernel": 1}]}, "flatten", HEAD),
    ["/model/layers/0/residual", "these layers give [26, 26, 8], the shortcut [28, 28, 8]"])
bad("vectors", layers({"residual": [{"op": "dense", "units": 4}]}, HEAD), ["/model/layers/0/residual", 'add a "shortcut" that gives [4]'])
bad("digits", layers({"residual": [{**CONV, "padding": 1}, {"op": "conv2d", "filters": 1, "kernel": 40}]}, "flatten", HEAD),
    ["/model/layers/0/residual/1/kernel", "a kernel of 40 x 40 does not fit"])
bad("digits", layers({"residual": ["relu"], "shortcut": [{"op": "conv2d", "filters": 1, "kernl": 1}]}, "flatten", HEAD),
    ["/model/layers/0/shortcut/0/kernl", 'did you mean "kernel"?'], ["/model/layers/0/shortcut/0", 'conv2d needs "kernel"'])
bad("digits", layers({"residual": ["relu"], "filters": 3}, "flatten", HEAD), ["/model/layers/0/filters", ""])

# Repeats, blocks, definitions.
for times in (0, -1, 1025, 1.5, "two", True):
    bad("vectors", layers({"repeat": times, "layers": ["relu"]}, HEAD), ["/model/layers/0/repeat", "must be a whole number"])
bad("vectors", layers({"repeat": "$n", "layers": ["relu"]}, HEAD), ["/model/layers/0/repeat", '"$n" has no value: it is not in "define"'])
bad("vectors", layers({"repeat": "$dept", "layers": ["relu"]}, HEAD, define={"depth": 3}), ["/model/layers/0/repeat", 'did you mean "depth"?'])
bad("vectors", layers({"repeat": "$n", "layers": ["relu"]}, HEAD, define={"n": 2000}), ["/model/layers/0/repeat", "must be a whole number from 1 to 1,024, got 2000"])
bad("vectors", layers({"repeat": 3, "layers": [{"op": "dense", "unit": 3, "units": 5}]}, HEAD), ["/model/layers/0/layers/0/unit", 'did you mean "units"?'])
bad("vectors", layers({"repeat": 3, "layers": [{"op": "slice", "begin": 7}]}, HEAD),
    ["/model/layers/0/layers/0/begin", "slice: there are 6 along axis 0"])
bad("vectors", layers({"repeat": 1024, "layers": ["relu"] * 5}, HEAD), ["/model/layers/0/repeat", "comes to 5,120 layers or more"])
bad("vectors", layers({"repeat": 1024, "layers": [{"repeat": 1024, "layers": [{"repeat": 1024, "layers": ["relu"]}]}]}, HEAD),
    ["/model/layers/0/repeat", "a model may have 4,096"])
bad("vectors", layers({"repeat": 3, "layers": ["relu"], "freeze": "no"}, HEAD), ["/model/layers/0/freeze", "must be true or false"])
bad("vectors", layers({"use": "b"}, HEAD), ["/model/layers/0/use", 'there is no block "b"'])
bad("vectors", layers({"use": "towr"}, HEAD, blocks={"tower": {"layers": ["relu"]}}),
    ["/model/layers/0/use", 'did you mean "tower"?'], ["/model/blocks/tower", "no layer uses"])
bad("vectors", layers({"use": "b"}, HEAD, blocks={"b": {"layers": ["relu", {"use": "b"}]}}),
    ["/model/blocks/b/layers/1/use", 'the block "b" uses itself (used at /model/layers/0)'])
bad("vectors", layers({"use": "a"}, HEAD, blocks={"a": {"layers": [{"use": "b"}]}, "b": {"layers": [{"use": "a"}]}}),
    ["/model/blocks/b/layers/0/use", 'uses itself (used at /model/blocks/a/layers/0, used at /model/layers/0)'])
DOWN = {"down": {"parameters": ["f"], "layers": [{"residual": [{"op": "conv2d", "filters": "$f", "kernel": 3, "padding": 1}],
                                                  "shortcut": [{"op": "conv2d", "filters": "$f", "kernel": 1}]}]}}
bad("digits", layers("relu", "relu", "relu", "relu", "relu", {"use": "down"}, "flatten", HEAD, blocks=DOWN),
    ["/model/blocks/down/layers/0/residual/0/filters", '"$f" has no value (used at /model/layers/5 without "f")'],
    ["/model/blocks/down/layers/0/shortcut/0/filters", '"$f" has no value (used at /model/layers/5 without "f")'])
bad("digits", layers({"use": "down", "g": 3, "f": 3}, "flatten", HEAD, blocks=DOWN), ["/model/layers/0/g", 'the block "down" has no "g" (it has: f)'])
for value in (0, "many", 1.5):
    bad("digits", layers({"use": "down", "f": value}, "flatten", HEAD, blocks=DOWN),
        ["/model/blocks/down/layers/0/residual/0/filters", "(used at /model/layers/0)"],
        ["/model/blocks/down/layers/0/shortcut/0/filters", "(used at /model/layers/0)"])
bad("vectors", layers({"op": "dense", "units": "$u"}, HEAD), ["/model/layers/0/units", '"$u" has no value'])
bad("vectors", layers({"op": "dense", "units": "$u"}, HEAD, define={"u": 0}), ["/model/layers/0/units", "must be a whole number from 1"])
bad("vectors", layers({"op": "dense", "units": "$u"}, HEAD, define={"u": 2.5}), ["/model/layers/0/units", "got 2.5"])
bad("vectors", layers({"use": "b"}, HEAD, blocks={"b": {"layers": [{"op": "dense", "units": "$u"}]}}),
    ["/model/blocks/b/layers/0/units", 'it is neither a parameter of the block "b" nor in "define"'])
bad("vectors", layers({"op": "dense", "units": 4, "init": {"name": "normal", "stddev": "$s"}}, HEAD),
    ["/model/layers/0/init/stddev", '"$s" has no value'])

# Losses and metrics.
for dataset, head, loss, pointer, part in [
        ("cifar", 9, "softmax_cross_entropy", "/model/loss", "gives 9 scores, and the data set \"cifar10\" has 10 classes"),
        ("cifar", 10, "sigmoid_cross_entropy", "/model/loss", "reads one score, [1]"),
        ("cifar", 1, "sigmoid_cross_entropy", "/model/loss", 'tells two classes apart, and the data set "cifar10" has 10'),
        ("numbers", 2, "softmax_cross_entropy", "/model/loss", 'needs classes for labels; those of the data set "numbers" are numbers'),
        ("numbers", 2, "squared_error", "/model/loss", "reads one prediction, [1]"),
        ("numbers", 2, "huber", "/model/loss", "reads one prediction, [1]"),
        ("numbers", 2, "ctc", "/model/loss", "ctc reads [time, symbols]"),
        ("cifar", 10, {"op": "softmax_cross_entropy", "label_smoothing": 1}, "/model/loss/label_smoothing", "must be a number from 0"),
        ("cifar", 10, {"op": "softmax_cross_entropy", "per": "token"}, "/model/loss/per", "and no tokens"),
        ("cifar", 10, {"op": "softmax_cross_entropy", "per": "batch"}, "/model/loss/per", "must be one of example, token"),
        ("cifar", 10, {"op": "softmax_cross_entropy", "smoothing": 0.1}, "/model/loss/smoothing", 'softmax_cross_entropy has no "smoothing"'),
        ("cifar", 10, {"op": "softmax_cross_entropy", "weight": 0}, "/model/loss/weight", "must be a number"),
        ("cifar", 10, {"op": "softmax_cross_entropy", "target": "labl"}, "/model/loss/target", 'did you mean "label"?'),
        ("cifar", 10, "in_batch_softmax", "/model/loss", "in_batch_softmax reads 2 or 3 layers"),
        ("numbers", 1, {"op": "huber", "delta": 0}, "/model/loss/delta", "must be a number")]:
    bad(dataset, layers("flatten", {"op": "dense", "units": head}, loss=loss), [pointer, part])
for metric, pointer, part in [
        ("edit_distance", "", "edit_distance goes with the loss ctc"),
        ("sequence_accuracy", "", "goes with the loss ctc"),
        ("mean_absolute_error", "", "goes with the loss squared_error, huber"),
        ("auc", "", "auc reads one score"),
        ({"op": "top_k", "k": 10}, "/k", "of 10 scores one is always among 10"),
        ({"op": "top_k", "k": 0}, "/k", "must be a whole number from 1"),
        ({"op": "top_k", "n": 3, "k": 2}, "/n", 'top_k has no "n"'),
        ({"op": "accuracy", "in": "x"}, "/in", 'no layer has the name "x"'),
        ({"op": "recall", "k": 3}, "", "recall reads 2 layers")]:
    bad("cifar", layers("flatten", HEAD, metrics=["accuracy", metric]), [f"/model/metrics/1{pointer}", part])
LINES = [{"op": "transpose", "axes": [1, 0, 2]}, {"op": "reshape", "shape": [128, 32]}]
bad("lines", layers(*LINES, {"op": "dense", "units": 10}, loss="ctc"), ["/model/loss", "gives 10 scores, and the data set \"lines\" has 11 symbols"])
bad("lines", layers(*LINES, {"op": "dense", "units": "symbols"}, loss={"op": "ctc", "blank": 11}), ["/model/loss/blank", "and the blank is 11"])
bad("lines", layers("flatten", {"op": "dense", "units": 11}), ["/model/loss", "are texts of symbols"])
bad("reviews", layers({"op": "embedding", "size": 4}, {"op": "dense", "units": 2}), ["/model/loss", "an example has one class"])
INPUTS = {"user": "userId", "item": "movieId"}
TOWERS = [{"op": "embedding", "in": "user", "size": 4, "name": "u"}, {"op": "embedding", "in": "item", "size": 5, "name": "i"}]
for field in INPUTS.values():
    bad("ratings", {"layers": [{"op": "embedding", "in": field, "size": 4}], "loss": "squared_error"}, ["/model/layers/0/in", "must be the name"])
bad("ratings", {"inputs": INPUTS, "layers": TOWERS, "loss": {"op": "in_batch_softmax", "in": ["u", "i"]}}, ["/model/loss/in", "they are to be the same"])
bad("ratings", {"inputs": INPUTS, "layers": TOWERS, "loss": {"op": "in_batch_softmax", "in": ["u"]}}, ["/model/loss/in", '"in" names 1'])
bad("ratings", {"inputs": INPUTS, "layers": TOWERS, "loss": {"op": "in_batch_softmax", "in": ["u", "j"]}}, ["/model/loss/in/1", 'no layer has the name "j"'])

# What a micro-batch and a host are too small for.
NORM = layers("flatten", {"op": "dense", "units": 4}, "batch_norm", HEAD)
bad("digits", NORM, ["/training/micro_batch_size", 'batch_norm "batch_norm_0" sees 1 value for each channel of a micro-batch of 1; it needs 2 or more'], micro_batch=1)
WIDE = layers({"op": "conv2d", "filters": 64, "kernel": 3, "padding": 1}, "relu", "global_avg_pool", HEAD)
bad("birds", WIDE, ["/roles/worker/resources/memory_mb", "a micro-batch of 256 keeps 3,284 MiB of values for the backward pass, more than 2,048; smaller"],
    micro_batch=256, memory_mb=2048)
bad("vectors", layers({"op": "dense", "units": 1000000}, HEAD), ["/roles/worker/resources/memory_mb", "a worker needs"], micro_batch=1, memory_mb=64)
bad("vectors", layers({"op": "dense", "units": 10000000}, HEAD), ["/roles/ps/resources/memory_mb", "each of 1 ps holds"], micro_batch=1, ps_memory_mb=64)

# Products of sizes that no machine has.
one("cifar", {"op": "conv2d", "filters": 2147483647, "kernel": 1, "padding": 0}, "", "more than 1,099,511,627,776", after=("global_avg_pool", HEAD))
bad("vectors", layers({"op": "dense", "units": 2147483647}, {"op": "dense", "units": 2147483647}, HEAD), ["/model/layers/1", "more than 1,099,511,627,776"])
bad("cifar", layers({"op": "pad", "before": [65536, 65536, 65536]}, "flatten", HEAD), ["/model/layers/0", "numbers an example, more than"])

# One name of three is wrong: that is the fault, and no other.
EQUAL_TOWERS = [dict(tower, size=4) for tower in TOWERS]
bad("ratings", {"inputs": INPUTS, "layers": EQUAL_TOWERS, "loss": {"op": "in_batch_softmax", "in": ["nobody", "u", "i"]}}, ["/model/loss/in/0", 'no layer has the name "nobody"'])
bad("ratings", {"inputs": INPUTS, "layers": EQUAL_TOWERS, "loss": {"op": "in_batch_softmax", "in": ["u", "i", "i"]}}, ["/model/loss/in", "reads one number for how often an item comes"])
bad("ratings", {"inputs": INPUTS, "layers": EQUAL_TOWERS, "loss": {"op": "in_batch_softmax", "in": ["u", "i", "i", "i"]}}, ["/model/loss/in", "reads 2 or 3 layers"])

text = "".join(json.dumps(case, separators=(",", ":"), ensure_ascii=False) + "\n" for case in CASES)
(HERE / "bad_models.jsonl").write_text(text)
print(len(CASES))

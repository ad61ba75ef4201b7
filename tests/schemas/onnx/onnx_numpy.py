"""The ops that Trainyard's ONNX exports use, in numpy: slow, short, and by the text of the standard (opset 17).

run(model, inputs) gives the outputs by name. check_onnx.py holds it against the standard's own test cases first.
"""
import math

import numpy as np
from onnx import numpy_helper

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def windows(x, attributes, fill):
    """[batch, channels, outputs.., taps..] of x [batch, channels, sizes..]"""
    rank = x.ndim - 2
    kernel = attributes["kernel_shape"]
    strides = attributes.get("strides", [1] * rank)
    dilations = attributes.get("dilations", [1] * rank)
    pads = attributes.get("pads", [0] * (2 * rank))
    x = np.pad(x, [(0, 0), (0, 0)] + list(zip(pads[:rank], pads[rank:])), constant_values=fill)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axis=tuple(range(2, 2 + rank)))
    step = (slice(None), slice(None)) + tuple(slice(None, None, s) for s in strides)
    return view[step + tuple(slice(None, None, d) for d in dilations)]


def conv(a, x, w, b=None):
    group = a.get("group", 1)
    rank = x.ndim - 2
    all_windows = windows(x, {"kernel_shape": w.shape[2:], **a}, 0)
    outputs = []
    for part, kernel in zip(np.split(all_windows, group, 1), np.split(w, group, 0)):
        taps = list(range(2 + rank, 2 + 2 * rank))
        outputs.append(np.tensordot(part, kernel, ([1] + taps, [1] + list(range(2, 2 + rank)))))
    y = np.moveaxis(np.concatenate(outputs, -1), -1, 1)
    return y if b is None else y + b.reshape([1, -1] + [1] * rank)


def max_pool(a, x):
    rank = x.ndim - 2
    return windows(x, a, -np.inf).max(axis=tuple(range(2 + rank, 2 + 2 * rank)))


def average_pool(a, x):
    rank = x.ndim - 2
    axes = tuple(range(2 + rank, 2 + 2 * rank))
    if a.get("count_include_pad", 0):
        return windows(x, a, 0).mean(axis=axes)
    return windows(x, a, 0).sum(axis=axes) / windows(np.ones_like(x), a, 0).sum(axis=axes)


def batch_norm(a, x, scale, offset, mean, variance):
    shape = [1, -1] + [1] * (x.ndim - 2)
    inverse = 1 / np.sqrt(variance + a.get("epsilon", 1e-5))
    return (x - mean.reshape(shape)) * (inverse * scale).reshape(shape) + offset.reshape(shape)


def gemm(a, x, w, c=None):
    y = a.get("alpha", 1.0) * ((x.T if a.get("transA") else x) @ (w.T if a.get("transB") else w))
    return y if c is None else y + a.get("beta", 1.0) * c


def lstm_step(x, h, c, w, r, b, _):
    i, o, f, g = np.split(x @ w.T + h @ r.T + b[0] + b[1], 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(x, h, c, w, r, b, a):
    wz, wr, wh = np.split(x @ w.T + b[0], 3, -1)
    rz, rr, _ = np.split(h @ r.T + b[1], 3, -1)
    z, reset = sigmoid(wz + rz), sigmoid(wr + rr)
    units = h.shape[-1]
    r_h, b_h = r[2 * units:], b[1][2 * units:]
    if a.get("linear_before_reset", 0):
        new = np.tanh(wh + reset * (h @ r_h.T + b_h))
    else:
        new = np.tanh(wh + (reset * h) @ r_h.T + b_h)
    return (1 - z) * new + z * h, c


def rnn_step(x, h, c, w, r, b, a):
    name = a.get("activations", [b"Tanh"])[0]
    function = {b"Tanh": np.tanh, b"Relu": lambda v: np.maximum(v, 0)}[name]
    return function(x @ w.T + h @ r.T + b[0] + b[1]), c


def recurrence(step, gates):
    def run(a, x, w, r, b=None, lengths=None, h0=None, c0=None):
        time, batch, _ = x.shape
        directions, units = w.shape[0], r.shape[-1]
        b = np.zeros([directions, 2 * gates * units], x.dtype) if b is None else b
        lengths = np.full([batch], time) if lengths is None else lengths
        y = np.zeros([time, directions, batch, units], x.dtype)
        y_h = np.zeros([directions, batch, units], x.dtype)
        y_c = np.zeros_like(y_h)
        reversed_ones = {b"forward": [False], b"reverse": [True], b"bidirectional": [False, True]}
        for d, is_reversed in enumerate(reversed_ones[a.get("direction", b"forward")]):
            for e in range(batch):
                h = np.zeros([units], x.dtype) if h0 is None else h0[d, e]
                c = np.zeros([units], x.dtype) if c0 is None else c0[d, e]
                steps = range(int(lengths[e]))
                for t in reversed(steps) if is_reversed else steps:
                    h, c = step(x[t, e], h, c, w[d], r[d], np.split(b[d], 2), a)
                    y[t, d, e] = h
                y_h[d, e], y_c[d, e] = h, c
        return y, y_h, y_c

    return run


def reduce_with(function):
    def run(a, x, axes=None):
        axes = a.get("axes") if axes is None else axes
        axes = None if axes is None else tuple(int(i) for i in axes)
        return function(x, axis=axes, keepdims=bool(a.get("keepdims", 1)))

    return run


def reshape(a, x, shape):
    return x.reshape([x.shape[i] if s == 0 else int(s) for i, s in enumerate(shape)])


def slice_(a, x, starts, ends, axes=None, steps=None):
    at = [slice(None)] * x.ndim
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for axis, start, end, step in zip(axes, starts, ends, steps):
        at[int(axis)] = slice(int(start), int(end), int(step))
    return x[tuple(at)]


def pad(a, x, pads, value=0):
    rank = x.ndim
    sides = [(int(pads[i]), int(pads[rank + i])) for i in range(rank)]
    return np.pad(x, sides, constant_values=np.float32(value))


def flatten(a, x):
    axis = a.get("axis", 1)
    return x.reshape([int(np.prod(x.shape[:axis])), -1])


def clip(a, x, least=None, most=None):
    x = x if least is None else np.maximum(x, least)
    return x if most is None else np.minimum(x, most)


def fold(function):
    def run(a, *inputs):
        y = inputs[0]
        for x in inputs[1:]:
            y = function(y, x)
        return y

    return run


def each(function):
    return lambda a, *inputs: function(*inputs)


OPS = {
    "Abs": each(np.abs), "Add": each(np.add), "And": each(np.logical_and), "AveragePool": average_pool,
    "BatchNormalization": batch_norm, "Clip": clip, "Concat": lambda a, *x: np.concatenate(x, a["axis"]),
    "Conv": conv, "Div": each(np.divide), "Elu": lambda a, x: np.where(x < 0, a.get("alpha", 1.0) * np.expm1(x), x),
    "Erf": lambda a, x: erf(x).astype(x.dtype), "Exp": each(np.exp), "Flatten": flatten,
    "GRU": recurrence(gru_step, 3), "Gather": lambda a, x, i: np.take(x, i, a.get("axis", 0)), "Gemm": gemm,
    "GlobalAveragePool": lambda a, x: x.mean(axis=tuple(range(2, x.ndim)), keepdims=True),
    "Identity": lambda a, x: x, "LSTM": recurrence(lstm_step, 4),
    "LeakyRelu": lambda a, x: np.where(x < 0, a.get("alpha", 0.01) * x, x), "Less": each(np.less),
    "LessOrEqual": each(np.less_equal), "Log": each(np.log),
    "LogSoftmax": lambda a, x: np.log(softmax(x, a.get("axis", -1))), "MatMul": each(np.matmul),
    "Max": fold(np.maximum), "MaxPool": max_pool, "Min": fold(np.minimum), "Mul": each(np.multiply), "Pad": pad,
    "PRelu": lambda a, x, slope: np.where(x < 0, slope * x, x),
    "RNN": recurrence(rnn_step, 1), "ReduceL2": reduce_with(lambda x, **how: np.sqrt((x * x).sum(**how))),
    "ReduceMax": reduce_with(np.max), "ReduceMean": reduce_with(np.mean), "ReduceSum": reduce_with(np.sum),
    "Relu": lambda a, x: np.maximum(x, 0), "Reshape": reshape, "Sigmoid": each(sigmoid), "Slice": slice_,
    "Softmax": lambda a, x: softmax(x, a.get("axis", -1)), "Softplus": lambda a, x: np.logaddexp(0, x),
    "Sqrt": each(np.sqrt), "Sub": each(np.subtract), "Tanh": each(np.tanh),
    "Transpose": lambda a, x: np.transpose(x, a.get("perm")), "Where": each(np.where),
}


def attributes_of(node):
    values = {}
    for one in node.attribute:
        kinds = {1: one.f, 2: one.i, 3: one.s, 6: list(one.floats), 7: list(one.ints), 8: list(one.strings)}
        values[one.name] = kinds[one.type]
    return values


def run_node(node, values):
    outputs = OPS[node.op_type](attributes_of(node), *[values[name] if name else None for name in node.input])
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for name, value in zip(node.output, outputs):
        if name:
            values[name] = value


def run(model, inputs):
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    values.update(inputs)
    for node in model.graph.node:
        run_node(node, values)
    return {output.name: values[output.name] for output in model.graph.output}

#!/usr/bin/env python3
"""Makes the JSON files beside it: PyTorch's numbers for ops, optimizers, schedules and trainings.

Run by hand (Debian: python3-torch) when a case is added; the files are committed, so that tests
need no PyTorch. Inputs are in the files too: a test feeds them to our code and compares results.
"""
import json
import pathlib

import torch
from torch import nn
from torch.nn import functional

HERE = pathlib.Path(__file__).parent


def numbers(tensor):
    """The tensor flattened, with the nine digits that name a float32."""
    return [float(f"{value:.9g}") for value in tensor.detach().double().flatten().tolist()]


def write(name, content):
    text = json.dumps(content, separators=(",", ":"))
    text = text.replace('},{"', '},\n{"').replace('":{"', '":\n{"')
    (HERE / name).write_text(text + "\n")


def dense_case(rows, inputs, outputs):
    x = torch.randn(rows, inputs, requires_grad=True)
    kernel = torch.randn(inputs, outputs, requires_grad=True)
    bias = torch.randn(outputs, requires_grad=True)
    upstream = torch.randn(rows, outputs)
    y = x @ kernel + bias
    y.backward(upstream)
    return {"rows": rows, "in": inputs, "out": outputs, "x": numbers(x), "kernel": numbers(kernel),
            "bias": numbers(bias), "upstream": numbers(upstream), "y": numbers(y),
            "x_gradient": numbers(x.grad), "kernel_gradient": numbers(kernel.grad),
            "bias_gradient": numbers(bias.grad)}


def activation_case(name):
    function = {"relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh}[name]
    x = torch.cat([torch.randn(20) * 3, torch.tensor([-30.0, -1e-4, 0.0, 1e-4, 0.6, 0.7, 30.0])])
    x.requires_grad_()
    upstream = torch.randn(x.numel())
    y = function(x)
    y.backward(upstream)
    return {"name": name, "x": numbers(x), "upstream": numbers(upstream), "y": numbers(y),
            "x_gradient": numbers(x.grad)}


def cross_entropy_case(rows, classes, spread):
    logits = (torch.randn(rows, classes) * spread).requires_grad_()
    labels = torch.randint(0, classes, (rows,))
    losses = functional.cross_entropy(logits, labels, reduction="none")
    losses.sum().backward()
    return {"rows": rows, "classes": classes, "logits": numbers(logits), "labels": labels.tolist(),
            "losses": numbers(losses), "logits_gradient": numbers(logits.grad)}


def sparse_rows(rows, features, density):
    """A random matrix that is mostly zeros, dense and as compressed rows; one row is empty."""
    x = torch.randn(rows, features) * (torch.rand(rows, features) < density)
    x[rows // 2] = 0
    offsets, columns, values = [0], [], []
    for row in x:
        places = row.nonzero().flatten()
        columns += places.tolist()
        values += numbers(row[places])
        offsets.append(len(columns))
    return x, {"offsets": offsets, "columns": columns, "values": values, "features": features}


def sparse_matmul_case(rows, inputs, outputs):
    x, case = sparse_rows(rows, inputs, 0.3)
    kernel = torch.randn(inputs, outputs, requires_grad=True)
    bias = torch.randn(outputs, requires_grad=True)
    upstream = torch.randn(rows, outputs)
    y = x @ kernel + bias
    y.backward(upstream)
    return {**case, "out": outputs, "kernel": numbers(kernel), "bias": numbers(bias),
            "upstream": numbers(upstream), "y": numbers(y), "kernel_gradient": numbers(kernel.grad)}


def sigmoid_cross_entropy_case():
    edges = torch.tensor([-200.0, -30.0, -1e-4, 0.0, 1e-4, 30.0, 200.0])
    logits = torch.cat([torch.randn(12) * 3, edges, edges]).requires_grad_()
    labels = torch.cat([(torch.rand(12) < 0.5).float(), torch.zeros(7), torch.ones(7)])
    losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    losses.sum().backward()
    return {"logits": numbers(logits), "labels": [int(label) for label in labels],
            "losses": numbers(losses), "logits_gradient": numbers(logits.grad)}


def logistic_training(name):
    """Twelve full-batch steps of a logistic regression, with the loss before each."""
    x, case = sparse_rows(20, 9, 0.4)
    labels = (x[:, 0] + x[:, 3] - x[:, 5] + 0.3 * torch.randn(20) > 0).float()
    linear = nn.Linear(9, 1)
    optimizer = {"sgd": lambda p: torch.optim.SGD(p, lr=0.5),
                 "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, eps=1e-8),
                 "adam": lambda p: torch.optim.Adam(p, lr=0.1)}[name](linear.parameters())
    case.update({"optimizer": name, "learning_rate": 0.5 if name == "sgd" else 0.1,
                 "labels": [int(label) for label in labels], "losses": [],
                 "start": [numbers(linear.weight), numbers(linear.bias)]})
    for _ in range(12):
        optimizer.zero_grad()
        loss = functional.binary_cross_entropy_with_logits(linear(x).flatten(), labels)
        loss.backward()
        case["losses"].append(loss.item())
        optimizer.step()
    case["end"] = [numbers(linear.weight), numbers(linear.bias)]
    return case


def row_optimizer_case(name):
    """Ten steps of a sparse optimizer, each with gradients of some rows of a table of six."""
    table = nn.Embedding(6, 3, sparse=True)
    makers = {"sgd": lambda p: torch.optim.SGD(p, lr=0.1),
              "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, eps=1e-8),
              "adam": lambda p: torch.optim.SparseAdam(p, lr=0.1)}
    optimizer = makers[name](list(table.parameters()))
    case = {"name": name, "start": numbers(table.weight), "ids": [], "gradients": [], "weights": []}
    for _ in range(10):
        ids = torch.randperm(6)[:torch.randint(1, 5, (1,)).item()].sort().values
        gradient = torch.randn(len(ids), 3)
        optimizer.zero_grad()
        (table(ids) * gradient).sum().backward()
        optimizer.step()
        case["ids"].append(ids.tolist())
        case["gradients"].append(numbers(gradient))
        case["weights"].append(numbers(table.weight))
    return case


def wide_and_deep_training():
    """Twelve full-batch steps of sgd: a linear model beside an mlp of averaged embeddings."""
    x, case = sparse_rows(20, 9, 0.4)
    size = 4
    wide, table = nn.Parameter(torch.zeros(9, 1)), nn.Parameter(torch.randn(9, size) * 0.3)
    first, last = nn.Linear(size, 5), nn.Linear(5, 1)
    labels = (x[:, 0] + x[:, 3] - x[:, 5] + 0.3 * torch.randn(20) > 0).float()
    counts = (x != 0).sum(1, keepdim=True).clamp(min=1)
    parameters = [wide, table, *first.parameters(), *last.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.5)

    def variables():
        return [numbers(v) for layer in (first, last)
                for v in (layer.weight.t().contiguous(), layer.bias)]

    def rows():
        return numbers(torch.cat([wide, table], 1))

    case.update({"embedding_size": size, "hidden": [5], "learning_rate": 0.5, "losses": [],
                 "labels": [int(label) for label in labels], "start": variables(),
                 "start_rows": rows()})
    for _ in range(12):
        optimizer.zero_grad()
        logits = x @ wide + last(torch.tanh(first(x @ table / counts)))
        loss = functional.binary_cross_entropy_with_logits(logits.flatten(), labels)
        loss.backward()
        case["losses"].append(loss.item())
        optimizer.step()
    case["end"] = variables()
    case["end_rows"] = rows()
    return case


def squared_error_case(rows):
    predictions = torch.randn(rows, requires_grad=True)
    targets = torch.randn(rows)
    losses = functional.mse_loss(predictions, targets, reduction="none")
    losses.sum().backward()
    return {"predictions": numbers(predictions), "targets": numbers(targets),
            "losses": numbers(losses), "predictions_gradient": numbers(predictions.grad)}


def optimizer_case(name, weight_decay):
    makers = {
        "sgd": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=weight_decay),
        "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=weight_decay),
        "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True,
                                              weight_decay=weight_decay),
        "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, eps=1e-8, weight_decay=weight_decay),
        "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1, alpha=0.9, eps=1e-8,
                                                 weight_decay=weight_decay),
        "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.1, rho=0.9, eps=1e-6,
                                                   weight_decay=weight_decay),
        "adam": lambda p: torch.optim.Adam(p, lr=0.1, weight_decay=weight_decay),
        "adamw": lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=weight_decay),
    }
    weights = torch.randn(7, requires_grad=True)
    case = {"name": name, "learning_rate": 0.1, "weight_decay": weight_decay,
            "epsilon": 1e-6 if name == "adadelta" else 1e-8, "start": numbers(weights),
            "gradients": [], "weights": []}
    optimizer = makers[name]([weights])
    for _ in range(10):
        weights.grad = torch.randn(7)
        case["gradients"].append(numbers(weights.grad))
        optimizer.step()
        case["weights"].append(numbers(weights))
    return case


def mlp_training():
    """Twelve full-batch steps of a small mlp, for each activation, with the loss before each."""
    cases = []
    for name, activation in [("sigmoid", nn.Sigmoid), ("tanh", nn.Tanh), ("relu", nn.ReLU)]:
        features, hidden, classes, rows = 6, [5, 4], 3, 9
        first, second, last = nn.Linear(features, 5), nn.Linear(5, 4), nn.Linear(4, classes)
        model = nn.Sequential(first, activation(), second, activation(), last)
        x, labels = torch.randn(rows, features), torch.randint(0, classes, (rows,))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

        def variables():
            return [numbers(v) for layer in (first, second, last)
                    for v in (layer.weight.t().contiguous(), layer.bias)]

        case = {"activation": name, "features": features, "hidden": hidden, "classes": classes,
                "x": numbers(x), "labels": labels.tolist(), "learning_rate": 0.5,
                "start": variables(), "losses": []}
        for step in range(12):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(x), labels)
            loss.backward()
            if step == 0:
                case["first_gradients"] = [numbers(g) for layer in (first, second, last) for g in
                                           (layer.weight.grad.t().contiguous(), layer.bias.grad)]
            case["losses"].append(loss.item())
            optimizer.step()
        case["end"] = variables()
        cases.append(case)
    return cases


def schedule_case(name, steps, warmup, make):
    """PyTorch's own schedulers, after the warm-up of Trainyard: learning_rate * step / warmup."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.2)
    schedule = make(optimizer)
    rates = [0.2 * step / warmup for step in range(1, warmup + 1)]
    for _ in range(warmup, steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return {"name": name, "learning_rate": 0.2, "warmup_steps": warmup, "max_steps": steps,
            "rates": rates}


def bfloat16_cases():
    """Bits of float32 and what PyTorch rounds them to. NaN is left out: PyTorch makes all one."""
    special = [0x00000000, 0x80000000, 0x3F800000, 0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001,
               0xBF808000, 0x7F7FFFFF, 0x7F7F7FFF, 0x7F7F8000, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
               0x00000001, 0x00008000, 0x00018000, 0x007FFFFF, 0x807F8000, 0x00800000]
    random = torch.randint(-2**31, 2**31, (500,), dtype=torch.int64).tolist()
    bits = special + [one & 0xFFFFFFFF for one in random if one & 0x7F800000 != 0x7F800000]
    signed = [one - 2**32 if one >= 2**31 else one for one in bits]
    values = torch.tensor(signed, dtype=torch.int64).to(torch.int32).view(torch.float32)
    rounded = values.to(torch.bfloat16).view(torch.int16).tolist()
    return {"float32": bits, "bfloat16": [one & 0xFFFF for one in rounded]}


def main():
    torch.manual_seed(20171)
    write("ops.json", {
        "dense": [dense_case(*sizes) for sizes in ((1, 1, 1), (3, 4, 2), (5, 17, 9), (2, 3, 1))],
        "activations": [activation_case(name) for name in ("relu", "sigmoid", "tanh")],
        "cross_entropy": [cross_entropy_case(4, 3, 1), cross_entropy_case(3, 19, 20)],
        "squared_error": [squared_error_case(11)]})
    write("optimizers.json", [
        optimizer_case(name, weight_decay)
        for name in ("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adadelta", "adam",
                     "adamw")
        for weight_decay in (0.0, 0.05)])
    write("mlp_training.json", mlp_training())
    write("schedules.json", [
        schedule_case("constant", 5, 0,
                      lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda _: 1.0)),
        schedule_case("step", 14, 4,
                      lambda o: torch.optim.lr_scheduler.StepLR(o, step_size=3, gamma=0.5)),
        schedule_case("cosine", 20, 5,
                      lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=14,
                                                                           eta_min=0.02))])
    write("bfloat16.json", bfloat16_cases())
    torch.manual_seed(1995)  # of its own, so that the cases above stay as they are
    write("sparse.json", {
        "sparse_matmul": [sparse_matmul_case(*sizes) for sizes in ((6, 11, 1), (9, 7, 19))],
        "sigmoid_cross_entropy": [sigmoid_cross_entropy_case()],
        "logistic_training": [logistic_training(name) for name in ("sgd", "adagrad", "adam")],
        "row_optimizers": [row_optimizer_case(name) for name in ("sgd", "adagrad", "adam")],
        "wide_and_deep": wide_and_deep_training()})


if __name__ == "__main__":
    main()

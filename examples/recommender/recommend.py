#!/usr/bin/env python3
"""What a downloaded model of two towers recommends to a user, with nothing but the standard library.

  recommend.py MODEL.safetensors USER [COUNT]

Rows of the tables have ids; the file's vocabulary says which value of the data set's file each id is.
"""
import csv
import io
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "read-checkpoint"))
from read_checkpoint import read_model  # noqa: E402


def values_of(tensors):
    """{field: {id: value}}"""
    text = bytes(tensors["vocabulary"][1]).decode()
    values = {}
    for line in csv.DictReader(io.StringIO(text, newline="")):
        values.setdefault(line["field"], {})[int(line["id"])] = line["value"]
    return values


def vectors_of(tensors, tower, ids):
    """{id: vector} of a tower without hidden layers: its row, a dense layer, a length of 1."""
    (count, size), rows = tensors[f"{tower}/embedding_0/kernel"]
    (_, outputs), kernel = tensors[f"{tower}/dense_0/kernel"]
    bias = tensors[f"{tower}/dense_0/bias"][1]
    vectors = {}
    for place, row_id in zip(range(count), tensors[ids][1]):
        row = rows[place * size:(place + 1) * size]
        vector = [sum(value * kernel[i * outputs + j] for i, value in enumerate(row)) + bias[j] for j in range(outputs)]
        length = math.sqrt(sum(value * value for value in vector))
        vectors[row_id] = [value / length for value in vector]
    return vectors


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    _, tensors = read_model(sys.argv[1])
    values = values_of(tensors)
    # Tables in the order in which the model's layers first read their fields: the user's, then the item's.
    users = {values["user"][row_id]: vector for row_id, vector in vectors_of(tensors, "u", "rows/ids").items()}
    items = {values["item"][row_id]: vector for row_id, vector in vectors_of(tensors, "i", "rows/1/ids").items()}
    user = users.get(sys.argv[2])
    if user is None:
        sys.exit(f"the model knows no {sys.argv[2]!r}")
    scores = sorted(((sum(a * b for a, b in zip(user, vector)), item) for item, vector in items.items()), reverse=True)
    for score, item in scores[:int(sys.argv[3]) if len(sys.argv) == 4 else 10]:
        print(f"{score:.3f}  {item}")


if __name__ == "__main__":
    main()

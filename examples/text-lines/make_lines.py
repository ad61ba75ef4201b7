#!/usr/bin/env python3
"""Makes lines of text from the four files of MNIST: four digits side by side, drawn at random.

  make_lines.py MNIST-FOLDER OUTPUT-FOLDER [--train 20000] [--test 2000] [--seed 1]

OUTPUT-FOLDER then has train.csv, test.csv and a PNG file of 112 x 28 pixels for each line. Lines for training are of
MNIST's digits for training, lines for the test of those for the test, which other people have written. All digits come
in turn: none a second time before all came once. One seed gives the same bytes. Needs nothing beside Python.
"""
import argparse
import gzip
import pathlib
import random
import struct
import sys
import zlib

DIGITS_OF_A_LINE = 4
LINES_OF_A_FOLDER = 1000


def read_idx(folder, name, rank):
    """(sizes, bytes) of an IDX file of bytes, gzipped or not."""
    plain = folder / name
    packed = folder / (name + ".gz")
    if not plain.is_file() and not packed.is_file():
        sys.exit(f"{folder} has neither {plain.name} nor {packed.name}: the four files of MNIST are needed")
    content = plain.read_bytes() if plain.is_file() else gzip.decompress(packed.read_bytes())
    head = 4 + 4 * rank
    if len(content) < head or content[:4] != bytes((0, 0, 8, rank)):
        sys.exit(f"{folder / name} is not an IDX file of bytes in {rank} dimensions")
    sizes = struct.unpack(f">{rank}I", content[4:head])
    size = 1
    for one in sizes:
        size *= one
    if len(content) - head != size:
        sys.exit(f"{folder / name} has {len(content) - head} bytes of data, its head says {size}")
    return sizes, content[head:]


def read_digits(folder, part):
    """All (label, rows) of the part "train" or "t10k"."""
    (count, height, width), pixels = read_idx(folder, f"{part}-images-idx3-ubyte", 3)
    (labels_count,), labels = read_idx(folder, f"{part}-labels-idx1-ubyte", 1)
    if count == 0 or count != labels_count or (height, width) != (28, 28) or max(labels) > 9:
        sys.exit(f"{folder}: the {part} files are not MNIST's")
    size = height * width
    rows = [[pixels[start + y * width:start + (y + 1) * width] for y in range(height)]
            for start in range(0, count * size, size)]
    return list(zip(labels, rows))


def in_turn(digits, chance):
    """Digits without end: all of them in a random order, then all of them in another."""
    while True:
        yield from chance.sample(digits, len(digits))


def png(rows):
    """A grey image as a PNG file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def write_lines(name, lines, folder, digits):
    """NAME.csv, and the images in a folder of that name."""
    with open(folder / f"{name}.csv", "w", encoding="ascii", newline="\n") as table:
        table.write("file,text\n")
        for i in range(lines):
            four = [next(digits) for _ in range(DIGITS_OF_A_LINE)]
            file = f"{name}/{i // LINES_OF_A_FOLDER:02d}/{i:05d}.png"
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(png([b"".join(parts) for parts in zip(*(rows for _, rows in four))]))
            table.write(file + "," + "".join(str(label) for label, _ in four) + "\n")
    print(f"{lines} lines in {folder / name}.csv")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mnist", type=pathlib.Path, help="folder of the four files of MNIST")
    parser.add_argument("output", type=pathlib.Path, help="folder to make")
    parser.add_argument("--train", type=int, default=20000, help="lines for training")
    parser.add_argument("--test", type=int, default=2000, help="lines for the test")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not options.mnist.is_dir():
        sys.exit(f"{options.mnist} is not there: it is to have the four files of MNIST")
    options.output.mkdir(parents=True, exist_ok=True)
    for name, part, lines in (("train", "train", options.train), ("test", "t10k", options.test)):
        digits = in_turn(read_digits(options.mnist, part), random.Random(f"{options.seed} {name}"))
        write_lines(name, lines, options.output, digits)


main()

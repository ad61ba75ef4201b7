"""Writes tests/golden/image_files/ and image_files.json: small image files, and what Pillow makes of them.

Needs Pillow, built with libjpeg-turbo. Run in the repository: python3 tests/golden/make_image_files.py
"""
import hashlib
import json
import struct
import zlib
from pathlib import Path

from PIL import Image

FOLDER = Path("tests/golden/image_files")
HEIGHT, WIDTH = 13, 17


def value(row, column, channel):
    """Slopes of different steepness with an edge, so that JPEG has something to do."""
    edge = 90 if (row * 3 + column * (channel + 1)) % 11 < 4 else 0
    return (row * 9 + column * 5 + channel * 40 + edge) % 256


def picture(mode):
    channels = {"L": 1, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    data = bytes(value(row, column, channel)
                 for row in range(HEIGHT) for column in range(WIDTH) for channel in range(channels))
    return Image.frombytes(mode, (WIDTH, HEIGHT), data)


def write_png16(path):
    """Red, green and blue of 16 bits, which Pillow reads and does not write."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(
        b"\0" + b"".join(struct.pack(">H", value(row, column, channel) * 256 + (row * 37 + column) % 256)
                         for column in range(WIDTH) for channel in range(3))
        for row in range(HEIGHT))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 16, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) +
                     chunk(b"IEND", b""))


def write_files():
    FOLDER.mkdir(exist_ok=True)
    colours, grey = picture("RGB"), picture("L")
    colours.save(FOLDER / "colours.png")
    grey.save(FOLDER / "grey.png")
    grey.point(lambda byte: 255 if byte > 100 else 0).convert("1").save(FOLDER / "black_and_white.png")
    colours.quantize(12).save(FOLDER / "palette.png", transparency=3)
    picture("RGBA").save(FOLDER / "alpha.png")
    write_png16(FOLDER / "deep.png")
    colours.save(FOLDER / "colours.jpg", quality=85)
    colours.save(FOLDER / "progressive.jpg", quality=70, progressive=True, subsampling=0)
    grey.save(FOLDER / "grey.jpg", quality=90)
    picture("CMYK").save(FOLDER / "four_colours.jpg")
    colours.save(FOLDER / "colours.ppm")
    grey.save(FOLDER / "grey.pgm")


def sha256(image):
    return hashlib.sha256(image.tobytes()).hexdigest()


def middle_window(width, height, to_width, to_height):
    if width * to_height >= height * to_width:
        wide = (height * to_width + to_height // 2) // to_height
        left = (width - wide) // 2
        return (left, 0, left + wide, height)
    high = (width * to_height + to_width // 2) // to_width
    top = (height - high) // 2
    return (0, top, width, top + high)


def resized(image, height, width):
    window = image.crop(middle_window(image.width, image.height, width, height))
    return window.resize((width, height), Image.BILINEAR)


def main():
    write_files()
    files = {}
    for path in sorted(FOLDER.iterdir()):
        if path.name == "four_colours.jpg":
            continue
        image = Image.open(path)
        image.load()
        files[path.name] = {"colours": sha256(image.convert("RGB")), "grey": sha256(image.convert("L"))}
    sizes = [[13, 17], [5, 5], [4, 9], [9, 4], [1, 1], [40, 23], [26, 34], [7, 30]]
    source = Image.open(FOLDER / "colours.png")
    resized_to = [{"size": size, "pixels": sha256(resized(source, *size))} for size in sizes]
    grey = Image.open(FOLDER / "grey.pgm")
    resized_to += [{"size": size, "grey": sha256(resized(grey, *size))} for size in sizes]
    document = {"height": HEIGHT, "width": WIDTH, "files": files, "resized": resized_to}
    Path("tests/golden/image_files.json").write_text(json.dumps(document, indent=1) + "\n")


main()

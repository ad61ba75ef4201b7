#!/usr/bin/env python3
"""Draws a metric of jobs over their epochs as an SVG figure.

  trainyard metrics ID --csv > sync.csv
  plot_curves.py --output curves.svg sync=sync.csv [async=async.csv ...]

The last step of a job is the end of its last epoch (--epochs). Needs nothing beside Python.
"""
import argparse
import csv
import html
import pathlib
import sys

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 28, 48  # around the curves
COLOURS = ("#1f6feb", "#d1480f", "#2a7d3f", "#8250df")


def read_points(path, metric, epochs):
    """[(epoch, value)] in the order of steps."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row.get("value")]
    if not rows:
        sys.exit(f"{path} has no metrics: it should be what `trainyard metrics ID --csv` prints")
    last = max(int(row["step"]) for row in rows)
    points = sorted((epochs * int(row["step"]) / last, float(row["value"])) for row in rows if row["name"] == metric)
    if not points:
        sys.exit(f"{path} has no {metric}; it has {', '.join(sorted({row['name'] for row in rows}))}")
    return points


class Frame:
    """Where epochs and values lie in the figure; the values' axis ends at `most`."""

    def __init__(self, epochs, least, most):
        self.epochs, self.least, self.most = epochs, least, most

    def x(self, epoch):
        return LEFT + (WIDTH - LEFT - RIGHT) * epoch / self.epochs

    def y(self, value):
        share = (min(max(value, self.least), self.most) - self.least) / (self.most - self.least)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{html.escape(words)}</text>'


def axes(frame, metric):
    lines = [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "epoch"), text(LEFT, 16, metric, "start")]
    for epoch in range(frame.epochs + 1):
        lines.append(text(frame.x(epoch), HEIGHT - BOTTOM + 18, str(epoch)))
    for tenth in range(11):
        value = frame.least + (frame.most - frame.least) * tenth / 10
        y = frame.y(value)
        lines.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#d0d7de"/>')
        lines.append(text(LEFT - 8, y + 4, f"{value:.2f}", "end"))
    return lines


def curve(frame, number, name, points):
    colour = COLOURS[number % len(COLOURS)]
    path = "L".join(f"{frame.x(epoch):.1f} {frame.y(value):.1f}" for epoch, value in points)
    lines = [f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>']
    lines += [f'<circle cx="{frame.x(epoch):.1f}" cy="{frame.y(value):.1f}" r="2.5" fill="{colour}"/>'
              for epoch, value in points]
    y = HEIGHT - BOTTOM - 16 - 20 * number
    lines.append(text(WIDTH - RIGHT - 8, y, f"{name}: {points[-1][1]:.4f} at the end", "end", f'fill="{colour}"'))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="+", metavar="NAME=METRICS.csv")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--metric", default="test_sequence_accuracy")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--least", type=float, default=0.0, help="where the axis of values begins")
    parser.add_argument("--most", type=float, default=1.0, help="where it ends")
    options = parser.parse_args()
    if options.epochs < 1 or options.least >= options.most:
        sys.exit("--epochs must be 1 or more, --least below --most")
    frame = Frame(options.epochs, options.least, options.most)
    lines = axes(frame, options.metric)
    for number, job in enumerate(options.jobs):
        name, _, path = job.partition("=")
        if not path:
            sys.exit(f"{job} is not NAME=METRICS.csv")
        lines += curve(frame, number, name, read_points(path, options.metric, options.epochs))
    figure = "\n".join(lines)
    options.output.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="13" fill="#1f2328">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n{figure}\n</svg>\n',
        encoding="utf-8")


main()

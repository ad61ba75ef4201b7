#!/usr/bin/env python3
"""Makes a CSV file of points on a spiral with two arms, for the example own-data.

  make_points.py OUTPUT.csv
"""
import argparse
import csv
import math
import random


def points(each):
    """x, y and the arm's name, of so many points on each arm."""
    draw = random.Random(7)
    for _ in range(each):
        for arm, turn in (("left", 0.0), ("right", math.pi)):
            angle = draw.uniform(0.5, 2.5) * math.pi
            radius = angle / math.pi + draw.gauss(0, 0.08)
            yield radius * math.cos(angle + turn), radius * math.sin(angle + turn), arm


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", help="CSV file to make")
    with open(parser.parse_args().output, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["x", "y", "arm"])
        table.writerows((f"{x:.4f}", f"{y:.4f}", arm) for x, y, arm in points(2000))


main()

#!/usr/bin/env python3
"""Makes a CSV file of who liked what, drawn from a seed: 24,000 lines "user,item" of 800 users and 600 items.

  make_ratings.py OUTPUT.csv

Each item has one of twelve genres and some are far more popular than others. Each user has two genres that most of the
items are of. Nobody likes an item twice. Needs nothing beside Python.
"""
import csv
import random
import sys

USERS, ITEMS, GENRES, LIKED = 800, 600, 12, 30


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    chance = random.Random(7)
    popularity = [1 / (1 + place) ** 0.8 for place in range(ITEMS // GENRES)]  # of each genre's items
    with open(sys.argv[1], "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["user", "item"])
        for user in range(USERS):
            first, second = chance.sample(range(GENRES), 2)
            liked = set()
            while len(liked) < LIKED:
                genre = chance.choices([first, second, chance.randrange(GENRES)], [0.6, 0.3, 0.1])[0]
                place = chance.choices(range(len(popularity)), popularity)[0]
                liked.add(f"genre {genre}, no. {place}")
            for item in sorted(liked):
                table.writerow([f"user {user}", item])


main()

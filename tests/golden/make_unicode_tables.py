#!/usr/bin/env python3
"""Writes runtime/data/unicode_tables.h: which characters are letters, numbers and marks, and what their small forms are."""
import sys
import unicodedata


def ranges(wanted):
    found = []
    for c in range(0x110000):
        if unicodedata.category(chr(c))[0] != wanted:
            continue
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def small_forms():
    """[first, last, step, distance]: every step-th character of the range is so far from its small form."""
    found = []
    for c in range(0x110000):
        small = chr(c).lower()
        if len(small) != 1 or ord(small) == c:
            continue
        distance = ord(small) - c
        if found and found[-1][3] == distance:
            first, last, step, _ = found[-1]
            if c - last == step or (first == last and c - last <= 2):
                found[-1] = [first, c, c - last, distance]
                continue
        found.append([c, c, 1, distance])
    return found


def table(kind, name, rows):
    cells = ["{" + ", ".join(hex(x) if 0 <= i < 2 else str(x) for i, x in enumerate(row)) + "}" for row in rows]
    lines = [f"inline constexpr {kind} {name}[] = {{"]
    line = "   "
    for cell in cells:
        if len(line) + len(cell) + 2 > 100:
            lines.append(line)
            line = "   "
        line += " " + cell + ","
    lines.append(line.rstrip(",") + "};")
    return "\n".join(lines)


def main():
    print(f"// Unicode {unicodedata.unidata_version}: made by tests/golden/make_unicode_tables.py, not by hand.")
    print("""#pragma once

#include <cstdint>

namespace trainyard::runtime {

// clang-format off
struct CharacterRange {
  char32_t first;
  char32_t last;
};

// Every step-th character of the range is so far from its small form.
struct SmallForms {
  char32_t first;
  char32_t last;
  char32_t step;
  std::int32_t distance;
};
""")
    for name, wanted in (("letter_ranges", "L"), ("number_ranges", "N"), ("mark_ranges", "M")):
        print(table("CharacterRange", name, ranges(wanted)) + "\n")
    print(table("SmallForms", "small_forms", small_forms()) + "\n")
    print("// clang-format on\n\n}  // namespace trainyard::runtime")


if __name__ == "__main__":
    sys.exit(main())

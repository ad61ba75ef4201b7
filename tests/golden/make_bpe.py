#!/usr/bin/env python3
"""Writes bpe/tokenizer.json and bpe.json: a small byte pair encoding, and texts with the ids it gives them.

The algorithm is that of GPT-2's encoder.py (merge all occurrences of the best pair, again and again) with its regular
expression (python3-regex), so that ours is held against another way to compute the same.
"""
import json
import pathlib

import regex

HERE = pathlib.Path(__file__).parent
PATTERN = regex.compile(r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")

CORPUS = """The quick brown fox jumps over the lazy dog. The dog doesn't mind; it's asleep, and they'll let it be.
In 2024 there were 1,234 trains on 56 lines. Les élèves étaient là — où étaient-ils? Züge fahren über Brücken.
aaa aaaa aaaaa banana bananas ananas. Поезд идёт. 電車が来る。 the the the there then these those this that
def f(x):\n    return x + 1\n\n\tif x == 10:  # ten\n        print('x', x)\n"""

TEXTS = ["", " ", "  ", "a", "the", " the", "the dog's bananas", "They'LL don't we'd I'm you're we've it'll 's'", "aaaaaaa aaaa",
         "x  =  1\n\n\treturn  ", "1234567 abc123 12ab", "élèves étaient! Поезд 電車 🚂🚃", "¿qué? «oui» — ½ ² x²", "tab\tnew\nline\r\n  two",
         "a\u00a0b\u3000c  \u2003d", "e\u0301 combining", "\x00\x01\x7f control", "'''", " ' s", "'s's", "end  ", "\n\n\nx", " \n y"]


def byte_characters():
    seen = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    table, more = {}, 0
    for b in range(256):
        if b in seen:
            table[b] = chr(b)
        else:
            table[b] = chr(256 + more)
            more += 1
    return table


BYTES = byte_characters()


def spell(piece):
    return tuple(BYTES[b] for b in piece.encode())


def merge(word, pair):
    out, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def train(text, count):
    words = [spell(piece) for piece in PATTERN.findall(text)]
    merges = []
    for _ in range(count):
        counts = {}
        for word in words:
            for pair in zip(word, word[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=lambda pair: (counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        merges.append(best)
        words = [merge(word, best) for word in words]
    return merges


def encode(text, vocabulary, ranks):
    ids = []
    for piece in PATTERN.findall(text):
        word = spell(piece)
        while len(word) > 1:
            best = min(zip(word, word[1:]), key=lambda pair: ranks.get(pair, len(ranks)))
            if best not in ranks:
                break
            word = merge(word, best)
        ids += [vocabulary[token] for token in word]
    return ids


def main():
    merges = train(CORPUS, 150)
    tokens = [BYTES[b] for b in range(256)]
    for left, right in merges:
        if left + right not in tokens:
            tokens.append(left + right)
    vocabulary = {token: id for id, token in enumerate(tokens)}
    end = len(tokens)
    document = {
        "version": "1.0",
        "added_tokens": [{"id": end, "content": "<|endoftext|>", "special": True}],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "vocab": vocabulary,
                  "merges": [f"{left} {right}" for left, right in merges]},
    }
    (HERE / "bpe").mkdir(exist_ok=True)
    (HERE / "bpe" / "tokenizer.json").write_text(json.dumps(document, ensure_ascii=False, indent=0) + "\n")
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    cases = [{"text": text, "pieces": [len(p.encode()) for p in PATTERN.findall(text)],
              "ids": encode(text, vocabulary, ranks)} for text in TEXTS + [CORPUS]]
    (HERE / "bpe.json").write_text(json.dumps({"vocabulary": end + 1, "cases": cases}, indent=0) + "\n")


if __name__ == "__main__":
    main()

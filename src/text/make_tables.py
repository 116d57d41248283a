#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/text/tables.h's tables as C: the ranks of cl100k_base, and the kinds of characters that its split knows.

  make_tables.py RANKS.json CHARACTERS.txt OUT.c

Run by the build. The same input gives the same output; what does not fit the layout of the tables is an error.
"""
import base64
import itertools
import json
import sys

# As in tables.h.
SLOT_BITS, BUCKET_BITS, OFFSET_BITS, BLOCK_BITS = 17, 15, 20, 7
STEPS, LONGEST, NO_RANK = 256, 128, 0x1FFFF
KINDS = {"L": 1, "N": 2, "S": 3}
SHAPES, OPEN = {(2,): 1, (3,): 1, (2, 1): 2, (1, 2): 3}, 4

LENGTH_FACTOR, WORD_FACTOR = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
MASK64 = (1 << 64) - 1


def hash_of(token):
    """As hash_bytes of bpe.c."""
    h = len(token) * LENGTH_FACTOR & MASK64
    for at in range(0, len(token), 8):
        product = (h ^ int.from_bytes(token[at:at + 8], "little")) * WORD_FACTOR
        h = (product ^ product >> 64) & MASK64
    return h


def read_ranks(path):
    """The tokens in the order of their ranks."""
    with open(path, encoding="ascii") as file:
        words = json.load(file)["bpe_ranks"].split(" ")
    if words[:2] != ["!", "0"]:
        sys.exit(f"{path}: the ranks do not begin at 0")
    tokens = [base64.b64decode(word, validate=True) for word in words[2:]]
    if len(set(tokens)) != len(tokens) or max(map(len, tokens)) > LONGEST or len(tokens) >= NO_RANK:
        sys.exit(f"{path}: tokens that the tables cannot hold")
    return tokens


def place(tokens):
    """Finds for every bucket the step that takes each of its tokens to a slot of its own: {slot: rank}, [step]."""
    buckets = [[] for _ in range(1 << BUCKET_BITS)]
    for rank, token in enumerate(tokens):
        h = hash_of(token)
        start, stride = h >> BUCKET_BITS & (1 << SLOT_BITS) - 1, h >> 32 | 1
        buckets[h & (1 << BUCKET_BITS) - 1].append((rank, start, stride))
    slots, steps = {}, [0] * len(buckets)
    for number in sorted(range(len(buckets)), key=lambda b: (-len(buckets[b]), b)):
        for step in range(STEPS):
            wanted = {start + step * stride & (1 << SLOT_BITS) - 1: rank for rank, start, stride in buckets[number]}
            if len(wanted) == len(buckets[number]) and not slots.keys() & wanted.keys():
                break
        else:
            sys.exit("no perfect hash was found: change a factor, here and in bpe.c")
        slots.update(wanted)
        steps[number] = step
    return slots, steps


def lay_out(tokens):
    """The entries one after another, and where each begins."""
    entries, offsets = bytearray(), []
    for rank, token in enumerate(tokens):
        offsets.append(len(entries))
        entries += (rank | len(token) << 24).to_bytes(4, "little") + token
    if offsets[-1] >= 1 << OFFSET_BITS:
        sys.exit("the entries are too many for the offsets in the slots")
    return bytes(entries), offsets


def fill_slots(tokens, places, offsets):
    words = [0] * (1 << SLOT_BITS)  # where there is no token: the entry of the first one, which has its own slot
    for slot, rank in places.items():
        words[slot] = hash_of(tokens[rank]) >> 32 + OFFSET_BITS << OFFSET_BITS | offsets[rank]
    return words


def number_pairs(tokens):
    """For every two bytes (the first one lower) which of the tokens of two bytes they are, from 1; and their ranks."""
    numbers, ranks = [0] * (1 << 16), [NO_RANK]
    for rank, token in enumerate(tokens):
        if len(token) == 2:
            numbers[int.from_bytes(token, "little")] = len(ranks)
            ranks.append(rank)
    return numbers, ranks


def merge(ranks, data, limit):
    """The parts that merging makes of some bytes, as long as the ranks are below the limit."""
    parts = [data[i:i + 1] for i in range(len(data))]
    while True:
        pairs = [(ranks.get(parts[i] + parts[i + 1], NO_RANK), i) for i in range(len(parts) - 1)]
        rank, at = min(pairs, default=(NO_RANK, 0))
        if rank >= limit:
            return parts
        parts[at:at + 2] = [parts[at] + parts[at + 1]]


def find_intruders(tokens):
    """The lowest rank of a token that is other characters and the first bytes of one, by these; or the last bytes of a
    character and others, by these. Only where both characters are of more than a byte."""
    heads, tails = {}, {}
    for rank, token in enumerate(tokens):
        starts = [i for i, byte in enumerate(token) if byte & 0xC0 != 0x80]
        if starts and starts[-1] > 0 and token[starts[-1] - 1] >= 0x80:
            heads.setdefault(token[starts[-1]:], rank)
        if starts and starts[0] > 0 and token[starts[0]] >= 0x80:
            tails.setdefault(token[:starts[0]], rank)
    return heads, tails


def shape_characters(tokens):
    """For every character of two or three bytes, the parts that it has before any of its bytes can be merged with those
    of other characters of more than a byte, which is when an intruder has the lowest rank."""
    ranks = {token: rank for rank, token in enumerate(tokens)}
    heads, tails = find_intruders(tokens)
    shapes = bytearray(0x10000)
    for c in itertools.chain(range(0x80, 0xD800), range(0xE000, 0x10000)):
        data = chr(c).encode()
        limit = min(min(heads.get(data[:i], NO_RANK), tails.get(data[i:], NO_RANK)) for i in range(1, len(data)))
        parts = merge(ranks, data, limit)
        shape = SHAPES.get(tuple(map(len, parts)), 0)
        shapes[c] = shape | OPEN if shape and parts != merge(ranks, data, NO_RANK) else shape
    return shapes


def pack(numbers, bits):
    """As many to the byte as it has room for, the first one lowest."""
    each = 8 // bits
    return bytes(sum(numbers[i + k] << bits * k for k in range(each)) for i in range(0, len(numbers), each))


def read_characters(path):
    kinds = bytearray(0x110000)
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.startswith("#"):
                continue
            kind, span = line.split()
            first, _, last = span.partition("..")
            for c in range(int(first, 16), int(last or first, 16) + 1):
                kinds[c] = KINDS[kind]
    return kinds


def two_stages(kinds):
    """Which block each 128 characters have, and the blocks that differ."""
    blocks, index = {}, []
    for at in range(0, len(kinds), 1 << BLOCK_BITS):
        block = kinds[at:at + (1 << BLOCK_BITS)]
        index.append(blocks.setdefault(pack(block, 2), len(blocks)))
    if len(blocks) > 256:
        sys.exit("more blocks of characters than a byte can number")
    return index, b"".join(blocks)


def write_numbers(out, declaration, numbers):
    out.write(f"const {declaration} = {{\n")
    for at in range(0, len(numbers), 16):
        out.write(",".join(map(hex, numbers[at:at + 16])) + ",\n")
    out.write("};\n")


def write_bytes(out, declaration, data):
    """As a string: compilers read that much faster than numbers. Octal, as hexadecimal escapes have no end."""
    out.write(f"const {declaration} =\n")
    for at in range(0, len(data), 64):
        out.write('"' + "".join(f"\\{byte:03o}" for byte in data[at:at + 64]) + '"\n')
    out.write(";\n")


def main(ranks_file, characters_file, out_file):
    tokens = read_ranks(ranks_file)
    places, steps = place(tokens)
    entries, offsets = lay_out(tokens)
    numbers, ranks = number_pairs(tokens)
    index, blocks = two_stages(read_characters(characters_file))
    with open(out_file, "w", encoding="ascii") as out:
        out.write('// Made by make_tables.py.\n#include "text/tables.h"\n')
        write_numbers(out, "uint8_t bpe_steps[1 << BPE_BUCKET_BITS]", steps)
        write_numbers(out, "uint32_t bpe_slots[1 << BPE_SLOT_BITS]", fill_slots(tokens, places, offsets))
        write_bytes(out, "char bpe_entries[]", entries + bytes(8))
        write_numbers(out, "uint16_t bpe_pairs[1 << 16]", numbers)
        write_numbers(out, "uint32_t bpe_pair_ranks[]", ranks)
        write_numbers(out, "uint8_t bpe_shapes[0x10000 / 2]", pack(shape_characters(tokens), 4))
        write_numbers(out, "uint8_t unicode_index[0x110000 >> UNICODE_BLOCK_BITS]", index)
        write_numbers(out, "uint8_t unicode_blocks[]", blocks)


if __name__ == "__main__":
    main(*sys.argv[1:])

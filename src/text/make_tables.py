#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables that src/text/tables.h declares as C: the ranks of cl100k_base, and the kinds of characters that
matter when a text is split into pieces.

  make_tables.py RANKS.json CHARACTERS.txt OUT.c

Run by the build. The same input gives the same output. Input that does not fit the tables is an error.
"""
import base64
import itertools
import json
import sys

# As in tables.h.
SLOT_BITS, BUCKET_BITS, OFFSET_BITS, BLOCK_BITS = 17, 15, 20, 7
STEPS, LONGEST, NO_RANK, RANK_BITS, LOW_BITS = 256, 128, 0x1FFFF, 17, 3
KINDS = {"L": 1, "N": 2, "S": 3}
BYTES, WHOLE, SHAPE_BITS = 0, 1, 2
SHAPES = {(2,): WHOLE, (3,): WHOLE, (2, 1): 2, (1, 2): 3, (1, 1): BYTES, (1, 1, 1): BYTES}

LENGTH_FACTOR, WORD_FACTOR = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
MASK64 = (1 << 64) - 1


def mix(word):
    product = word * WORD_FACTOR
    return (product ^ product >> 64) & MASK64


def hash_of(token):
    """Returns the same hash as hash_bytes in bpe.c."""
    h = len(token) * LENGTH_FACTOR & MASK64
    for at in range(0, len(token), 8):
        h = mix(h ^ int.from_bytes(token[at:at + 8], "little"))
    return h


def read_ranks(path):
    """Returns the tokens in the order of their ranks."""
    with open(path, encoding="ascii") as file:
        words = json.load(file)["bpe_ranks"].split(" ")
    if words[:2] != ["!", "0"]:
        sys.exit(f"{path}: the ranks do not begin at 0")
    tokens = [base64.b64decode(word, validate=True) for word in words[2:]]
    if len(set(tokens)) != len(tokens) or max(map(len, tokens)) > LONGEST or len(tokens) >= NO_RANK:
        sys.exit(f"{path}: the tables cannot hold these tokens: duplicates, too long or too many")
    return tokens


def place(hashes, lows, low_bits):
    """Finds a step for every bucket, so that each hash has a slot that no other hash has. Returns
    ({slot: index of the hash}, [step of each bucket]). `lows` are the low bits of each hash's slot."""
    high_mask = (1 << SLOT_BITS) - (1 << low_bits)
    buckets = [[] for _ in range(1 << BUCKET_BITS)]
    for number, (h, low) in enumerate(zip(hashes, lows)):
        buckets[h & (1 << BUCKET_BITS) - 1].append((number, h >> BUCKET_BITS, h >> 32 | 1, low))
    slots, steps = {}, [0] * len(buckets)
    for bucket in sorted(range(len(buckets)), key=lambda b: (-len(buckets[b]), b)):
        for step in range(STEPS):
            wanted = {start + step * stride & high_mask | low: number for number, start, stride, low in buckets[bucket]}
            if len(wanted) == len(buckets[bucket]) and not slots.keys() & wanted.keys():
                break
        else:
            sys.exit("found no perfect hash: change a factor, here and in bpe.c")
        slots.update(wanted)
        steps[bucket] = step
    return slots, steps


def lay_out(tokens):
    """Returns all entries as one string of bytes, and the offset of each entry."""
    entries, offsets = bytearray(), []
    for rank, token in enumerate(tokens):
        offsets.append(len(entries))
        entries += (rank | len(token) << 24).to_bytes(4, "little") + token
    if offsets[-1] >= 1 << OFFSET_BITS:
        sys.exit("the entries are too large for the offsets in the slots")
    return bytes(entries), offsets


def hash_tokens(tokens, offsets):
    """Returns the slots of the tokens, and the steps of the buckets."""
    hashes = [hash_of(token) for token in tokens]
    places, steps = place(hashes, itertools.repeat(0), 0)
    words = [0] * (1 << SLOT_BITS)  # empty slots refer to the first entry, which differs from any bytes there
    for slot, rank in places.items():
        words[slot] = hashes[rank] >> 32 + OFFSET_BITS << OFFSET_BITS | offsets[rank]
    return words, steps


def find_longest(tokens):
    """Returns, for every byte, the length of the longest token that begins with this byte."""
    longest = [0] * 256
    for token in tokens:
        longest[token[0]] = max(longest[token[0]], len(token))
    return longest


def number_pairs(tokens, ranks):
    """Returns, for every two bytes (by their ranks), the number (from 1) of the token that they form, or 0; and the
    ranks of these tokens by number."""
    numbers, pair_ranks = [0] * (1 << 16), [NO_RANK]
    for rank, token in enumerate(tokens):
        if len(token) == 2:
            numbers[ranks[token[:1]] << 8 | ranks[token[1:]]] = len(pair_ranks)
            pair_ranks.append(rank)
    return numbers, pair_ranks


def merge(ranks, data, limit):
    """Returns the parts of some bytes after all merges with ranks below the limit."""
    parts = [data[i:i + 1] for i in range(len(data))]
    pairs = [ranks.get(data[i:i + 2], NO_RANK) for i in range(len(data) - 1)]
    while pairs and (rank := min(pairs)) < limit:
        at = pairs.index(rank)
        parts[at:at + 2] = [parts[at] + parts[at + 1]]
        del pairs[at]
        for i in range(max(at - 1, 0), min(at + 1, len(pairs))):
            pairs[i] = ranks.get(parts[i] + parts[i + 1], NO_RANK)
    return parts


def hash_merges(tokens, ranks):
    """Returns the slots with the two parts that are merged last into each token of more than two bytes, the slots with
    the token's rank, and the steps of the buckets. Each token has only one such pair of parts: if nothing is merged
    over the edges of its bytes, they are always merged in the same order."""
    made = [rank for rank, token in enumerate(tokens) if len(token) > 2]
    parts = [[ranks[part] for part in merge(ranks, tokens[rank], rank)] for rank in made]
    if any(len(two) != 2 for two in parts) or any(ranks[bytes([byte])] > 255 for byte in range(256)):
        sys.exit("a token is not the result of merging its bytes, or a byte has a rank above 255")
    words = [left << RANK_BITS - LOW_BITS | right >> LOW_BITS for left, right in parts]
    lows = [word + left + right & (1 << LOW_BITS) - 1 for word, (left, right) in zip(words, parts)]
    places, steps = place([mix(left << RANK_BITS | right) for left, right in parts], lows, LOW_BITS)
    high, low = [0] * (1 << SLOT_BITS), [0] * (1 << SLOT_BITS)
    for slot, number in places.items():
        high[slot] = words[number] | made[number] >> 16 << 31
        low[slot] = made[number] & 0xFFFF
    return high, low, steps


def shape_characters(ranks):
    """Returns the parts into which the bytes of every character of two or three bytes are merged on their own, and the
    ranks of the characters that become one part."""
    shapes, whole_ranks = [BYTES] * 0x10000, []
    for c in itertools.chain(range(0x80, 0xD800), range(0xE000, 0x10000)):
        parts = merge(ranks, chr(c).encode(), NO_RANK)
        shapes[c] = SHAPES[tuple(map(len, parts))]
        if shapes[c] == WHOLE:
            shapes[c] |= len(whole_ranks) << SHAPE_BITS
            whole_ranks.append(ranks[parts[0]])
    return shapes, whole_ranks


def length_of(lead):
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def find_cuts(tokens):
    """Finds the tokens that begin before a character and end inside it (heads), and those that begin inside a character
    and end after it (tails). Returns for both, by the first two bytes of the character after the edge, the last bytes
    of the character before the edge (bits). Ignores edges of characters of a single byte."""
    heads, tails = [0] * (1 << 12), [0] * (1 << 12)
    for token in tokens:
        starts = [i for i, byte in enumerate(token) if byte & 0xC0 != 0x80]
        if starts and starts[-1] + length_of(token[starts[-1]]) > len(token):
            mark_cut(heads, token, starts[-1])
        if starts and starts[0] > 0:
            mark_cut(tails, token, starts[0])
    return heads, tails


def mark_cut(cuts, token, edge):
    if edge == 0 or min(token[edge - 1], token[edge]) < 0x80:
        return
    lead, seconds = token[edge] & 0x3F, token[edge + 1:edge + 2] or range(64)
    for second in seconds:
        cuts[lead << 6 | second & 0x3F] |= 1 << (token[edge - 1] & 0x3F)


def pack(numbers, bits):
    """Packs as many numbers into each byte as fit, the first one lowest."""
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
    """Returns the block number of every 128 characters, and the different blocks."""
    blocks, index = {}, []
    for at in range(0, len(kinds), 1 << BLOCK_BITS):
        block = kinds[at:at + (1 << BLOCK_BITS)]
        index.append(blocks.setdefault(pack(block, 2), len(blocks)))
    if len(blocks) > 256:
        sys.exit("more than 256 different blocks of characters")
    return index, b"".join(blocks)


def write_numbers(out, declaration, numbers):
    out.write(f"const {declaration} = {{\n")
    for at in range(0, len(numbers), 16):
        out.write(",".join(map(hex, numbers[at:at + 16])) + ",\n")
    out.write("};\n")


def write_bytes(out, declaration, data):
    """Writes bytes as a string, which compilers read much faster than numbers. The escapes are octal, because
    hexadecimal escapes have no fixed length."""
    out.write(f"const {declaration} =\n")
    for at in range(0, len(data), 64):
        out.write('"' + "".join(f"\\{byte:03o}" for byte in data[at:at + 64]) + '"\n')
    out.write(";\n")


def main(ranks_file, characters_file, out_file):
    tokens = read_ranks(ranks_file)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    entries, offsets = lay_out(tokens)
    slots, steps = hash_tokens(tokens, offsets)
    merge_parts, merge_ranks, merge_steps = hash_merges(tokens, ranks)
    pairs, pair_ranks = number_pairs(tokens, ranks)
    shapes, whole_ranks = shape_characters(ranks)
    heads, tails = find_cuts(tokens)
    index, blocks = two_stages(read_characters(characters_file))
    with open(out_file, "w", encoding="ascii") as out:
        out.write('// Made by make_tables.py.\n#include "text/tables.h"\n')
        write_numbers(out, "uint8_t bpe_steps[1 << BPE_BUCKET_BITS]", steps)
        write_numbers(out, "uint32_t bpe_slots[1 << BPE_SLOT_BITS]", slots)
        write_bytes(out, "char bpe_entries[]", entries + bytes(8))
        write_numbers(out, "uint8_t bpe_longest[256]", find_longest(tokens))
        write_numbers(out, "uint8_t bpe_merge_steps[1 << BPE_BUCKET_BITS]", merge_steps)
        write_numbers(out, "uint32_t bpe_merge_parts[1 << BPE_SLOT_BITS]", merge_parts)
        write_numbers(out, "uint16_t bpe_merge_ranks[1 << BPE_SLOT_BITS]", merge_ranks)
        write_numbers(out, "uint8_t bpe_byte_ranks[256]", [ranks[bytes([byte])] for byte in range(256)])
        write_numbers(out, "uint16_t bpe_pairs[1 << 16]", pairs)
        write_numbers(out, "uint32_t bpe_pair_ranks[]", pair_ranks)
        write_numbers(out, "uint16_t bpe_shapes[0x10000]", shapes)
        write_numbers(out, "uint32_t bpe_whole_ranks[]", whole_ranks)
        write_numbers(out, "uint64_t bpe_heads[1 << 12]", heads)
        write_numbers(out, "uint64_t bpe_tails[1 << 12]", tails)
        write_numbers(out, "uint8_t unicode_index[0x110000 >> UNICODE_BLOCK_BITS]", index)
        write_numbers(out, "uint8_t unicode_blocks[]", blocks)


if __name__ == "__main__":
    main(*sys.argv[1:])

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the meta-schemas as the table that src/schema/schema_impl.h declares.

  make_meta.py META.jsonl OUT.c

Run by the build. One document a line; its "$id" or "id" is its name.
"""
import json
import sys


def c_string(text):
    """Returns a C literal. UTF-8 and control characters become octal escapes, which end after three digits."""
    plain = {'"': '\\"', "\\": "\\\\", "?": "\\?"}
    return "".join(plain.get(chr(b)) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode())


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()]
    rows = []
    for line in lines:
        document = json.loads(line)
        uri = (document.get("$id") or document["id"]).split("#")[0]
        rows.append(f'    {{"{c_string(uri)}",\n     "{c_string(line)}"}},\n')
    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write('// Made by make_meta.py.\n#include "schema/schema_impl.h"\n\n')
        out.write("const struct schema_meta schema_metas[] = {\n" + "".join(rows) + "};\n\n")
        out.write(f"const size_t schema_meta_count = {len(rows)};\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables that src/text/search/word_tables.h declares as C: thesaurus, stop words, verbs, background.

  make_word_tables.py THESAURUS.txt STOPWORDS.txt VERBS.txt BACKGROUND.txt OUT.c

Run by the build. Words are reduced to stems by the library that the program itself loads (words.c). The same input and
the same version of that library give the same output.
"""
import ctypes
import re
import sys

LIBRARY = "libstemmer.so.0d"  # as in words.c
CLASSES = {"function": "WORD_FUNCTION", "request": "WORD_REQUEST", "weak": "WORD_WEAK"}
VERBS = {kind: "VERB_" + kind.upper() for kind in ("read", "create", "delete", "change", "run", "send", "compute")}


class Stemmer:
    def __init__(self):
        try:
            self.library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            sys.exit(f"cannot load {LIBRARY}, install libstemmer: {error}")
        self.library.sb_stemmer_new.restype = ctypes.c_void_p
        self.library.sb_stemmer_stem.restype = ctypes.c_void_p
        self.english = ctypes.c_void_p(self.library.sb_stemmer_new(b"english", b"UTF_8"))
        if not self.english:
            sys.exit(f"{LIBRARY} has no stemmer for English")

    def stem(self, word):
        """Returns the same stem as stemmer_stem in words.c."""
        if len(word) < 3 or not re.fullmatch("[a-z]+", word):
            return word
        stem = self.library.sb_stemmer_stem(self.english, word.encode(), len(word))
        return ctypes.string_at(stem, self.library.sb_stemmer_length(self.english)).decode()


def read_lines(path):
    with open(path, encoding="ascii") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def read_sections(path, names):
    """Reads a file with a line [name] above the words of each section. Returns [(name in C, word)]."""
    pairs, section = [], None
    for line in read_lines(path):
        if line.startswith("["):
            if line.strip("[]") not in names:
                sys.exit(f"{path}: unknown section {line}")
            section = names[line.strip("[]")]
        elif section:
            pairs += [(section, word) for word in line.split()]
        else:
            sys.exit(f"{path}: words before the first section")
    return pairs


def read_thesaurus(path, stemmer):
    """Returns {stem: [stems with the same meaning]} and {stem: [stems that it is short for]}, in the order of the file."""
    means, short_for = {}, {}
    for line in read_lines(path):
        left, sign, right = re.fullmatch(r"([^=>]+)([=>]?)([^=>]*)", line).groups()
        stems = [stemmer.stem(word) for word in left.split()]
        others = [stemmer.stem(word) for word in right.split()] if sign else stems
        table = short_for if sign == "=" else means
        for stem in stems:
            table.setdefault(stem, []).extend(other for other in others if other != stem)
    return means, short_for


class Tables:
    def __init__(self, out):
        self.out, self.texts, self.places, self.lists = out, "\0", {}, [0]

    def place(self, word):
        """Returns the offset of a word in word_texts, adding the word if it is new."""
        if word not in self.places:
            self.places[word] = len(self.texts)
            self.texts += word + "\0"
        return self.places[word]

    def list_words(self, words):
        """Adds a list of words, which ends with 0, to word_lists. Returns its offset."""
        start = len(self.lists)
        self.lists += [self.place(word) for word in words] + [0]
        return start

    def write_table(self, name, values):
        self.out.write(f"static const struct word_row {name}_rows[] = {{\n")
        for word in sorted(values):
            self.out.write(f"    {{{self.place(word)}, {values[word]}}},  // {word}\n")
        self.out.write("};\n")
        self.out.write(f"const struct word_table {name} = {{{name}_rows, {len(values)}}};\n\n")

    def write_texts(self):
        if max(len(self.texts), len(self.lists)) > 0xFFFF:
            sys.exit("too many words for the 16-bit offsets of word_tables.h")
        texts = "".join(f'    "{word}\\0"\n' for word in self.texts.split("\0")[:-1])
        self.out.write(f"const char word_texts[] =\n{texts};\n\nconst uint16_t word_lists[] = {{\n")
        for at in range(0, len(self.lists), 16):
            self.out.write(", ".join(map(str, self.lists[at:at + 16])) + ",\n")
        self.out.write("};\n")


def main(thesaurus_file, stopwords_file, verbs_file, background_file, out_file):
    stemmer = Stemmer()
    means, short_for = read_thesaurus(thesaurus_file, stemmer)
    stopwords, verbs = {}, {}
    for name, word in read_sections(stopwords_file, CLASSES):
        if word in stopwords:
            sys.exit(f"{stopwords_file}: {word} is listed twice")
        stopwords[word] = name
    for name, word in read_sections(verbs_file, VERBS):
        stem = stemmer.stem(word)
        verbs[stem] = f"{verbs[stem]} | {name}" if stem in verbs else name
    background = dict(pair.split(":") for line in read_lines(background_file) for pair in line.split())
    with open(out_file, "w", encoding="ascii") as out:
        out.write("// Made by make_word_tables.py.\n")
        for header in ("lexicon", "word_tables"):
            out.write(f'#include "text/search/{header}.h"\n')
        out.write("\n")
        tables = Tables(out)
        tables.write_table("thesaurus_table", {stem: tables.list_words(words) for stem, words in means.items()})
        tables.write_table("short_form_table", {stem: tables.list_words(words) for stem, words in short_for.items()})
        tables.write_table("stopword_table", stopwords)
        tables.write_table("verb_table", verbs)
        tables.write_table("background_table", background)
        tables.write_texts()


if __name__ == "__main__":
    main(*sys.argv[1:])

// SPDX-License-Identifier: Apache-2.0
// The data of one server in a directory, immutable and reference-counted. Private to directory.c and the files of its
// implementation.
#pragma once
#include "catalog/directory/directory.h"

struct part_kind_index {
  struct entry *entries;  // `item` and `source` are not set, because they depend on the catalog
  struct part_origin {
    enum item_kind kind;
    uint32_t at;  // index of the item among the server's items of this kind
  } * origins;
  size_t count;
  struct search_part *search;
};

struct directory_part {
  unsigned refs;
  uint64_t version;
  str server, namespace;
  struct arena arena;
  struct part_kind_index kind_indexes[DIRECTORY_KINDS];
  struct directory_note *notes;
  size_t note_count;
  bool skipped, unsound;  // set even if the list of notes is full
};

// `source` is the index of the server's part in `c->parts`. `namespace` is the namespace of all ids; if it is empty,
// the namespace of each entry is inferred from its name.
struct directory_part *directory_part_new(const struct catalog *c, size_t source, str namespace,
                                          const struct directory_options *opt);
struct directory_part *directory_part_ref(struct directory_part *p);
void directory_part_unref(struct directory_part **p);

// SPDX-License-Identifier: Apache-2.0
#include "mcp/gateway_chain.h"

#include <stdio.h>

#include "base/crypto/hash.h"

enum {
  MAX_TEXT = 2048,
  MAX_ENTRIES = 64,
  SEEN_MS = 5 * 60 * 1000,
  // After this time, a mark counts as new again. This time must be shorter than the longest delay between two attempts
  // to connect to a server, so that each attempt renews the mark.
  RENEW_MS = 20 * 1000,
};

// ---- reading

static bool is_id(str s) {
  if (s.n != CHAIN_ID) return false;
  for (size_t i = 0; i < s.n; i++)
    if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] >= 'a' && s.p[i] <= 'f')) return false;
  return true;
}

struct chain_reading {
  struct chain_entry entry;
  bool marked;
};

// Removes the next entry from a list. Returns false if the entry is malformed.
static bool next_entry(str *list, struct chain_reading *out) {
  str item, id, digest;
  if (!str_cut(*list, ',', &item, list)) *list = STR_NONE;
  item = str_trim(item);
  *out = (struct chain_reading){.marked = str_starts(item, STR("~"))};
  if (out->marked) item = str_from(item, 1);
  bool has_digest = str_cut(item, '.', &id, &digest);
  if (!is_id(id) || (has_digest && !is_id(digest))) return false;
  memcpy(out->entry.id, id.p, CHAIN_ID);
  if (has_digest) memcpy(out->entry.digest, digest.p, CHAIN_ID);
  return true;
}

static bool malformed(struct fault *f, const char *where) {
  fault_set(f, FAULT_INVALID, "%s is malformed: it is not a list of gateway ids", where);
  return false;
}

static bool too_deep(struct fault *f) {
  fault_set(f, FAULT_UPSTREAM_ERROR, "more than %d gateways in a row: connect fewer gateways to each other",
            (int)CHAIN_DEPTH);
  return false;
}

static bool is_loop(struct fault *f) {
  fault_set(f, FAULT_UPSTREAM_ERROR,
            "this is a loop of gateways: the request comes from this gateway itself, through other gateways");
  return false;
}

// ---- this instance

bool chain_init(struct chain *c, const struct rand_source *rand, str variable, str files, struct fault *f) {
  unsigned char bytes[SHA256_SIZE];
  *c = (struct chain){0};
  rand_fill(rand, bytes, CHAIN_ID / 2);
  hash_hex(bytes, CHAIN_ID / 2, c->self.id);
  rand_fill(rand, bytes, CHAIN_ID / 2);
  hash_hex(bytes, CHAIN_ID / 2, c->mark);
  if (files.n) {
    hash_sha256(files, bytes);
    hash_hex(bytes, CHAIN_ID / 2, c->self.digest);
  }
  if (variable.n > MAX_TEXT) return malformed(f, CHAIN_VARIABLE);
  while (variable.n) {
    struct chain_reading r;
    if (!next_entry(&variable, &r)) return malformed(f, CHAIN_VARIABLE);
    if (c->above_count == CHAIN_DEPTH) return too_deep(f);
    c->above[c->above_count++] = r.entry;
  }
  return c->above_count < CHAIN_DEPTH || too_deep(f);
}

bool chain_repeats(const struct chain *c) {
  for (size_t i = 0; c->self.digest[0] && i < c->above_count; i++)
    if (strcmp(c->above[i].digest, c->self.digest) == 0) return true;
  return false;
}

static void put_entry(struct buf *out, const struct chain_entry *e) {
  if (out->n) buf_char(out, ',');
  buf_str(out, str_of(e->id));
  if (e->digest[0]) buf_printf(out, ".%s", e->digest);
}

str chain_variable(const struct chain *c, struct arena *a) {
  struct buf b;
  buf_init(&b, MAX_TEXT);
  for (size_t i = 0; i < c->above_count; i++) put_entry(&b, &c->above[i]);
  put_entry(&b, &c->self);
  str out = arena_printf(a, CHAIN_VARIABLE "=%.*s", STR_ARG(buf_view(&b)));
  buf_done(&b);
  return out;
}

// ---- HTTP

static void put_member(struct buf *out, str before, const char *text) {
  buf_str(out, before);
  buf_str(out, str_of(text));
  buf_char(out, ',');
}

// Does not use printf-like functions, because every request to a server contains this header.
void chain_put_header(const struct chain *c, const struct chain_marks *marks, uint64_t now, struct buf *out) {
  put_member(out, STR(CHAIN_HEADER ": ~"), c->mark);
  for (size_t i = 0; marks && i < CHAIN_SEEN; i++)
    if (marks->seen[i].mark[0] && now - marks->seen[i].at < SEEN_MS) put_member(out, STR("~"), marks->seen[i].mark);
  for (size_t i = 0; i < c->above_count; i++) put_member(out, STR(""), c->above[i].id);
  buf_str(out, str_of(c->self.id));
  buf_str(out, STR("\r\n"));
}

// Returns the index of this mark or, if it is not stored, of the mark that was seen least recently.
static size_t place_of(const struct chain_marks *m, const char *mark) {
  size_t oldest = 0;
  for (size_t i = 0; i < CHAIN_SEEN; i++) {
    if (strcmp(m->seen[i].mark, mark) == 0) return i;
    if (m->seen[i].at < m->seen[oldest].at) oldest = i;
  }
  return oldest;
}

bool chain_note(struct chain_marks *to, const struct chain *c, str marks, uint64_t now) {
  bool news = false;
  for (struct chain_reading r; marks.n && next_entry(&marks, &r);) {
    if (strcmp(r.entry.id, c->mark) == 0) continue;
    size_t i = place_of(to, r.entry.id);
    news |= strcmp(to->seen[i].mark, r.entry.id) != 0 || now - to->seen[i].at >= RENEW_MS;
    memcpy(to->seen[i].mark, r.entry.id, sizeof to->seen[i].mark);
    to->seen[i].at = now;
  }
  return news;
}

// In a ring of gateways, every gateway receives its own mark from the preceding gateway. One refusal breaks the ring,
// so a gateway refuses the request only if its id is larger than the preceding gateway's id. Every ring contains such a
// gateway.
bool chain_admit(const struct chain *c, str header, struct fault *f) {
  struct chain_entry path[CHAIN_DEPTH];
  size_t depth = 0, entries = 0;
  bool ring = false;
  if (header.n > MAX_TEXT) return malformed(f, CHAIN_HEADER);
  while (header.n) {
    struct chain_reading r;
    if (!next_entry(&header, &r) || ++entries > MAX_ENTRIES) return malformed(f, CHAIN_HEADER);
    ring |= r.marked && strcmp(r.entry.id, c->mark) == 0;
    if (r.marked) continue;
    if (strcmp(r.entry.id, c->self.id) == 0) return is_loop(f);
    if (depth == CHAIN_DEPTH) return too_deep(f);
    path[depth++] = r.entry;
  }
  if (depth == 0) return malformed(f, CHAIN_HEADER);
  if (ring && strcmp(c->self.id, path[depth - 1].id) > 0) return is_loop(f);
  return depth < CHAIN_DEPTH || too_deep(f);
}

static str entries_of(str header, bool marked, struct arena *a) {
  struct buf b;
  buf_init(&b, MAX_TEXT);
  for (struct chain_reading r; header.n && next_entry(&header, &r);) {
    r.entry.digest[0] = 0;
    if (r.marked == marked) put_entry(&b, &r.entry);
  }
  str out = b.n ? arena_str(a, buf_view(&b)) : STR_NONE;
  buf_done(&b);
  return out;
}

str chain_ids_in(str header, struct arena *a) {
  return entries_of(header, false, a);
}

str chain_marks_in(str header, struct arena *a) {
  return entries_of(header, true, a);
}

// ---- calls

static bool passed(const struct chain_entry *path, size_t depth, const char *id) {
  for (size_t i = 0; i < depth; i++)
    if (strcmp(path[i].id, id) == 0) return true;
  return false;
}

bool chain_extend(const struct chain *c, str path, struct arena *a, str *out, struct fault *f) {
  struct chain_entry all[CHAIN_DEPTH + 1];
  size_t depth = 0;
  for (size_t i = 0; i < c->above_count; i++) all[depth++] = c->above[i];
  if (path.n > MAX_TEXT) return malformed(f, "_meta toolgate/chain");
  while (path.n) {
    struct chain_reading r;
    if (!next_entry(&path, &r)) return malformed(f, "_meta toolgate/chain");
    if (strcmp(r.entry.id, c->self.id) == 0) return is_loop(f);
    if (passed(all, depth, r.entry.id)) continue;
    if (depth == CHAIN_DEPTH) return too_deep(f);
    all[depth++] = r.entry;
  }
  if (depth >= CHAIN_DEPTH) return too_deep(f);
  all[depth++] = c->self;
  struct buf b;
  buf_init(&b, MAX_TEXT);
  for (size_t i = 0; i < depth; i++) {
    all[i].digest[0] = 0;
    put_entry(&b, &all[i]);
  }
  *out = arena_str(a, buf_view(&b));
  buf_done(&b);
  return true;
}

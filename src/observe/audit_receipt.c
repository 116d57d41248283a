// SPDX-License-Identifier: Apache-2.0
#include "observe/audit_receipt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/crypto/ed25519.h"
#include "base/mem.h"
#include "observe/audit_impl.h"
#include "json/write.h"

enum { HEAD_LINE_MAX = 2 * TREE_HEAD_MAX, BLOCK = 512 };

// ---- finding the line

struct seeking {
  str wanted;  // ,"decision_id":"ID"
  struct arena *arena;
  str line;
  uint64_t seq;
};

// A text search for the member is sufficient, because quotes inside values are escaped.
static bool seek_line(void *ctx, str line, const struct audit_place *p) {
  struct seeking *x = ctx;
  if (!memmem(line.p, line.n, x->wanted.p, x->wanted.n) || !memmem(line.p, line.n, "\"envelope_hash\"", 15))
    return true;
  x->line = arena_str(x->arena, line);
  x->seq = p->seq;
  return false;
}

// ---- the head

static bool covers(const struct tree_head *h, uint64_t first, uint64_t seq) {
  return h->first == first && seq >= first && seq - first < h->size;
}

// Opens FILE.heads. Returns false if it cannot be read. Sets *out to NULL if there is no head yet.
static bool open_heads(const char *path, FILE **out, struct fault *f) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  *out = fd >= 0 ? fdopen(fd, "r") : NULL;
  if (*out || errno == ENOENT) return true;
  fault_set(f, FAULT_IO, "%s cannot be read: %s", path, strerror(errno));
  if (fd >= 0) close(fd);
  return false;
}

// Finds the last head that covers the line. Returns false if there is none. FILE.heads grows without a limit, so it is
// read line by line.
static bool find_head(const char *path, uint64_t first, uint64_t seq, struct arena *a, struct tree_head *out,
                      struct fault *f) {
  char line[HEAD_LINE_MAX], found[HEAD_LINE_MAX] = "";
  struct arena scratch;
  struct tree_head h;
  struct fault ignored;
  FILE *file;
  if (!open_heads(path, &file, f)) return false;
  arena_init(&scratch);
  for (; file && fgets(line, sizeof line, file); arena_reset(&scratch)) {
    const struct json *v = json_parse(&scratch, str_of(line), &json_default_limits, &ignored);
    if (tree_head_read(v, &scratch, &h) && covers(&h, first, seq)) memcpy(found, line, sizeof found);
  }
  bool ok = !file || !ferror(file);
  if (!ok) fault_set(f, FAULT_IO, "%s cannot be read: %s", path, strerror(errno));
  if (file) fclose(file);
  arena_done(&scratch);
  if (ok && *found) return tree_head_read(json_parse(a, arena_str(a, str_of(found)), &json_default_limits, f), a, out);
  if (ok)
    fault_set(f, FAULT_INVALID,
              "no signed head covers line %llu of the audit log yet; try again after audit.head_interval",
              (unsigned long long)seq);
  return false;
}

// ---- the path

struct reading {
  int fd;
  uint64_t from, count;  // leaves in the block
  struct tree_hash block[BLOCK];
  bool ok;
};

static struct tree_hash leaf_at(void *ctx, uint64_t at) {
  struct reading *x = ctx;
  if (at - x->from >= x->count) {
    off_t place = (off_t)(AUDIT_LEAVES_HEADER + at * SHA256_SIZE);
    ssize_t n = pread(x->fd, x->block, sizeof x->block, place);
    x->from = at;
    x->count = n > 0 ? (uint64_t)n / SHA256_SIZE : 0;
    x->ok &= x->count > 0;
    if (!x->count) return (struct tree_hash){{0}};
  }
  return tree_leaf((str){(const char *)x->block[at - x->from].bytes, SHA256_SIZE});
}

// Returns the leaf of a line. Returns false if the hash of the line does not match its text.
static bool leaf_of(str line, struct tree_hash *out_leaf, struct audit_place *out_place) {
  char hash[AUDIT_HASH + 1];
  struct tree_hash h;
  if (!audit_read_place(line, out_place)) return false;
  audit_hash(out_place->hashed, hash);
  if (!str_eq(out_place->hash, str_of(hash)) || !tree_hash_read(out_place->hash, &h)) return false;
  *out_leaf = tree_leaf((str){(const char *)h.bytes, sizeof h.bytes});
  return true;
}

static bool leads_to(const struct audit_receipt *r, const struct tree_hash *leaf) {
  struct tree_hash root;
  return tree_follow(&r->path, leaf, &root) && memcmp(&root, &r->head.root, sizeof root) == 0;
}

static bool make_path(int fd, const char *path, struct audit_receipt *r, struct fault *f) {
  struct reading x = {.fd = fd, .ok = true};
  struct tree_hash leaf;
  struct audit_place p;
  tree_prove(&r->path, leaf_at, &x);
  if (x.ok && leaf_of(r->line, &leaf, &p) && leads_to(r, &leaf)) return true;
  fault_set(f, FAULT_IO, "the audit log does not match its signed head: the line or %s was altered", path);
  return false;
}

static bool make(const char *leaves, const char *heads, const struct seeking *found, struct arena *a,
                 struct audit_receipt *out, struct fault *f) {
  uint64_t first, count;
  int fd = audit_leaves_read(leaves, &first, &count, f);
  if (fd < 0) return false;
  *out = (struct audit_receipt){.line = found->line};
  bool ok = find_head(heads, first, found->seq, a, &out->head, f);
  if (ok) {
    out->path.index = found->seq - first;
    out->path.size = out->head.size;
    ok = make_path(fd, leaves, out, f);
  }
  close(fd);
  return ok;
}

bool audit_receipt_make(str file, str decision_id, struct arena *a, struct audit_receipt *out, struct fault *f) {
  const char *path = arena_cstr(a, file);
  struct seeking x = {.arena = a};
  x.wanted = arena_printf(a, ",\"decision_id\":\"%.*s\"", STR_ARG(decision_id));
  if (!audit_each_line(path, seek_line, &x, f)) return false;
  if (!x.line.p) {
    fault_set(f, FAULT_NOT_FOUND, "the audit log %s has no line of a completed call with the decision %.*s", path,
              STR_ARG(decision_id));
    return false;
  }
  const char *leaves = arena_printf(a, "%s.leaves", path).p, *heads = arena_printf(a, "%s.heads", path).p;
  return make(leaves, heads, &x, a, out, f);
}

void audit_receipt_put(const struct audit_receipt *r, str envelopes, struct buf *out) {
  struct json_writer w = json_writer(out);
  struct buf b;
  buf_init(&b, TREE_HEAD_MAX);
  json_begin_object(&w);
  json_member_u64(&w, STR("v"), 1);
  json_member_str(&w, STR("envelopes"), envelopes);
  json_member_str(&w, STR("line"), r->line);
  json_member_u64(&w, STR("index"), r->path.index);
  json_member_u64(&w, STR("size"), r->path.size);
  json_put_key(&w, STR("path"));
  json_begin_array(&w);
  for (unsigned i = 0; i < r->path.count; i++) {
    buf_reset(&b);
    tree_hash_put(&r->path.hashes[i], &b);
    json_put_str(&w, buf_view(&b));
  }
  json_end_array(&w);
  buf_reset(&b);
  tree_head_put(&r->head, &b);
  json_member_raw(&w, STR("head"), buf_view(&b));
  json_end_object(&w);
  buf_done(&b);
}

// ---- verifying

static bool fails(struct fault *f, const char *why) {
  fault_set(f, FAULT_INVALID, "%s", why);
  return false;
}

static bool read_path(const struct json *v, struct arena *a, struct tree_path *out) {
  const struct json *list = json_get(v, STR("path"));
  int64_t index, size;
  if (!json_int(json_get(v, STR("index")), &index) || !json_int(json_get(v, STR("size")), &size) || index < 0 ||
      size < 1 || !json_is(list, JSON_ARRAY) || list->count > TREE_LEVELS)
    return false;
  *out = (struct tree_path){.index = (uint64_t)index, .size = (uint64_t)size};
  JSON_EACH(it, list) {
    str hash;
    if (!json_string(it, a, &hash) || !tree_hash_read(hash, &out->hashes[out->count++])) return false;
  }
  return true;
}

static bool is_key(const struct tree_head *head, str key) {
  struct ed25519 *k = ed25519_read_public(key);
  struct buf b;
  buf_init(&b, 64);
  if (k) ed25519_put_public(k, &b);
  bool same = k && str_eq(buf_view(&b), head->key);
  buf_done(&b);
  ed25519_free(&k);
  return same;
}

// Compares the envelopes with their hash in the audit line.
static bool check_envelopes(str envelopes, str line, struct arena *a, struct audit_receipt_checked *out,
                            struct fault *f) {
  struct fault ignored;
  unsigned char digest[SHA256_SIZE];
  char hash[7 + AUDIT_HASH + 1] = "sha256:";
  str recorded = STR(""), id = STR(""), decision = STR("");
  const struct json *v = json_parse(a, line, &json_default_limits, &ignored);
  const struct json *e = json_parse(a, envelopes, &json_default_limits, &ignored);
  hash_sha256(envelopes, digest);
  hash_hex(digest, sizeof digest, hash + 7);
  json_string(json_get(v, STR("envelope_hash")), a, &recorded);
  if (!v || !e || !str_eq(recorded, str_of(hash))) return fails(f, "the envelopes are not those of the audit line");
  out->call = json_get(e, STR("call"));
  out->result = json_get(e, STR("result"));
  json_string(json_get(v, STR("decision_id")), a, &decision);
  json_string(json_get(out->call, STR("policy_decision_id")), a, &id);
  return str_eq(id, decision) || fails(f, "the envelopes belong to another decision than the audit line");
}

bool audit_receipt_check(str text, str key, struct arena *a, struct audit_receipt_checked *out, struct fault *f) {
  struct audit_receipt r = {0};
  struct audit_receipt_checked c = {0};
  struct tree_hash leaf;
  struct audit_place place;
  str envelopes;
  int64_t v;
  const struct json *root = json_parse(a, text, &json_default_limits, f);
  if (!json_int(json_get(root, STR("v")), &v) || v != 1 || !json_string(json_get(root, STR("line")), a, &r.line) ||
      !json_string(json_get(root, STR("envelopes")), a, &envelopes) || !read_path(root, a, &r.path) ||
      !tree_head_read(json_get(root, STR("head")), a, &r.head))
    return fails(f, "the file is not a receipt of toolgate audit prove");
  if (!leaf_of(r.line, &leaf, &place)) return fails(f, "the audit line was altered: its hash does not match its text");
  if (r.path.size != r.head.size || place.seq < r.head.first || place.seq - r.head.first != r.path.index)
    return fails(f, "the path does not belong to the audit line and the head");
  if (!leads_to(&r, &leaf)) return fails(f, "the audit line is not in the tree of the signed head");
  if (!tree_head_verify(&r.head)) return fails(f, "the signature of the head is not valid");
  if (key.n && !is_key(&r.head, key)) return fails(f, "the head was signed with another key");
  if (!check_envelopes(envelopes, r.line, a, &c, f)) return false;
  c.seq = place.seq;
  c.head = r.head;
  *out = c;
  return true;
}

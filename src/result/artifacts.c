// SPDX-License-Identifier: Apache-2.0
#include "result/artifacts.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"

enum { MAGIC = 0x61727466, HANDLE_DIGITS = 16 };

const struct artifacts_limits artifacts_default_limits = {
    .total_bytes = 256 << 20, .owner_bytes = 128 << 20, .owner_count = 512, .age_ms = 3600 * 1000};

struct owner {
  str name;
  struct map by_handle;
  struct list by_use;  // the one that was not used for the longest time first
  size_t bytes;
};

struct piece {
  struct artifact view;
  struct owner *owner;
  str handle;
  size_t bytes;  // what it counts for
  uint64_t put_ms;
  struct list by_use, all_by_use, by_age;
  char text[];  // handle, tool id, media type, label, bytes
};

struct artifacts {
  uint32_t magic;
  struct artifacts_limits limits;
  const struct clock *clock;
  struct hash_key seed;
  struct map owners;
  struct list by_use, by_age;
  size_t bytes;
};

static const char *const kind_names[] = {"text", "structured", "image", "audio", "resource"};

struct artifacts *artifacts_new(const struct artifacts_limits *limits, const struct clock *clock,
                                const struct rand_source *rand) {
  struct artifacts *s = MEM_NEW(struct artifacts);
  s->magic = MAGIC;
  s->limits = *limits;
  s->clock = clock;
  s->seed = rand_hash_key(rand);
  map_init(&s->owners, &s->seed);
  list_init(&s->by_use);
  list_init(&s->by_age);
  return s;
}

static void drop_owner(struct artifacts *s, struct owner *o) {
  map_remove(&s->owners, o->name);
  map_done(&o->by_handle);
  mem_free(o);
}

// The owner goes with the last piece.
static void drop(struct artifacts *s, struct piece *p) {
  struct owner *o = p->owner;
  map_remove(&o->by_handle, p->handle);
  list_remove(&p->by_use);
  list_remove(&p->all_by_use);
  list_remove(&p->by_age);
  o->bytes -= p->bytes;
  s->bytes -= p->bytes;
  mem_free(p);
  if (map_count(&o->by_handle) == 0) drop_owner(s, o);
}

void artifacts_free(struct artifacts **s) {
  if (!*s) return;
  ASSERT_MAGIC(*s, MAGIC);
  LIST_EACH(it, &(*s)->by_age) drop(*s, CONTAINER_OF(it, struct piece, by_age));
  map_done(&(*s)->owners);
  (*s)->magic = 0;
  mem_free(*s);
  *s = NULL;
}

static void drop_expired(struct artifacts *s) {
  uint64_t now = clock_mono_ms(s->clock);
  LIST_EACH(it, &s->by_age) {
    struct piece *p = CONTAINER_OF(it, struct piece, by_age);
    if (now - p->put_ms < s->limits.age_ms) return;
    drop(s, p);
  }
}

static struct piece *find(struct artifacts *s, str owner, str handle) {
  ASSERT_MAGIC(s, MAGIC);
  drop_expired(s);
  struct owner *o = map_find(&s->owners, owner);
  return o ? map_find(&o->by_handle, handle) : NULL;
}

static void touch(struct artifacts *s, struct piece *p) {
  list_remove(&p->by_use);
  list_push(&p->owner->by_use, &p->by_use);
  list_remove(&p->all_by_use);
  list_push(&s->by_use, &p->all_by_use);
}

const struct artifact *artifacts_find(struct artifacts *s, str owner, str handle) {
  struct piece *p = find(s, owner, handle);
  if (!p) return NULL;
  touch(s, p);
  return &p->view;
}

bool artifacts_holds(struct artifacts *s, str owner, str handle) {
  return find(s, owner, handle) != NULL;
}

static void make_room_for_owner(struct artifacts *s, str owner, size_t bytes) {
  struct owner *o;
  while ((o = map_find(&s->owners, owner)) &&
         (o->bytes > s->limits.owner_bytes - bytes || map_count(&o->by_handle) >= s->limits.owner_count))
    drop(s, CONTAINER_OF(o->by_use.next, struct piece, by_use));
}

static void make_room(struct artifacts *s, size_t bytes) {
  while (s->bytes > s->limits.total_bytes - bytes) drop(s, CONTAINER_OF(s->by_use.next, struct piece, all_by_use));
}

static str append(char **to, str s) {
  char *at = *to;
  if (s.n) memcpy(at, s.p, s.n);
  *to += s.n;
  return (str){at, s.n};
}

static struct owner *get_owner(struct artifacts *s, str name) {
  struct owner *o = map_find(&s->owners, name);
  if (o) return o;
  o = mem_zero(sizeof *o + name.n);
  char *to = (char *)(o + 1);
  o->name = append(&to, name);
  map_init(&o->by_handle, &s->seed);
  list_init(&o->by_use);
  map_add(&s->owners, o->name, o);
  return o;
}

static void keep(struct artifacts *s, str owner, const struct artifact *from, str handle, size_t bytes) {
  struct piece *p = mem_alloc(sizeof *p + bytes);
  char *to = p->text;
  p->handle = append(&to, handle);
  p->view = (struct artifact){.kind = from->kind};
  p->view.tool_id = append(&to, from->tool_id);
  p->view.media_type = append(&to, from->media_type);
  p->view.label = append(&to, from->label);
  p->view.bytes = append(&to, from->bytes);
  p->owner = get_owner(s, owner);
  p->bytes = bytes;
  p->put_ms = clock_mono_ms(s->clock);
  map_add(&p->owner->by_handle, p->handle, p);
  list_push(&p->owner->by_use, &p->by_use);
  list_push(&s->by_use, &p->all_by_use);
  list_push(&s->by_age, &p->by_age);
  p->owner->bytes += bytes;
  s->bytes += bytes;
}

static struct artifact_name name_of(const struct artifact *piece, struct arena *a) {
  unsigned char digest[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  hash_sha256(piece->bytes, digest);
  hash_hex(digest, sizeof digest, hex);
  return (struct artifact_name){
      .handle = arena_printf(a, "%s:%.*s:%.*s", kind_names[piece->kind], STR_ARG(piece->tool_id), HANDLE_DIGITS, hex),
      .content_hash = arena_str(a, str_of(hex)),
  };
}

bool artifacts_put(struct artifacts *s, str owner, const struct artifact *piece, struct arena *a,
                   struct artifact_name *out) {
  *out = name_of(piece, a);
  struct piece *before = find(s, owner, out->handle);
  if (before) drop(s, before);
  size_t bytes = out->handle.n + piece->tool_id.n + piece->media_type.n + piece->label.n + piece->bytes.n;
  if (bytes > s->limits.owner_bytes || bytes > s->limits.total_bytes || !s->limits.owner_count) return false;
  make_room_for_owner(s, owner, bytes);
  make_room(s, bytes);
  keep(s, owner, piece, out->handle, bytes);
  return true;
}

size_t artifacts_bytes(const struct artifacts *s) {
  return s->bytes;
}

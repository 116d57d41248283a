// SPDX-License-Identifier: Apache-2.0
// Reads the member `signing` of a governance file, and the keys that it names.
#include "base/assert.h"
#include "base/text/base64.h"
#include "govern/signing_impl.h"
#include "json/write.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { KEYS_MAX = 8, KEY_TEXT = 512 };

// ---- the file

static const struct governance_field key_fields[] = {
    {"key_file", governance_text, offsetof(struct signing_key, file), true, NULL},
    {"kid", governance_id, offsetof(struct signing_key, kid), false, NULL},
};

static void read_key(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  struct signing_key *k = into;
  k->pointer = pointer;
  governance_read_members(r, pointer, v, key_fields, COUNT(key_fields), k);
}

static void read_keys(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  struct governance_signing *s = to;
  s->keys = governance_read_list(r, pointer, v, sizeof *s->keys, read_key, &s->count);
  if (json_is(v, JSON_ARRAY) && (!s->count || s->count > KEYS_MAX))
    governance_report(r, pointer, "must have 1 to %d keys", KEYS_MAX);
}

static void check_ids(struct governance_reader *r, const struct governance_signing *s) {
  for (size_t i = 0; i < s->count; i++)
    for (size_t k = 0; k < i; k++)
      if (s->keys[i].kid.n && str_eq(s->keys[i].kid, s->keys[k].kid))
        governance_report(r, s->keys[i].pointer, "the kid \"%.*s\" is used twice", STR_ARG(s->keys[i].kid));
}

static void read_signing(struct governance_reader *r, str pointer, const struct json *v) {
  struct governance_signing *s = ARENA_NEW(r->arena, struct governance_signing);
  struct parts {
    struct signing_key single;
    struct governance_signing listed;
    str issuer;
  } parts = {0};
  static const struct governance_field fields[] = {
      {"key_file", governance_text, offsetof(struct parts, single.file), false, NULL},
      {"kid", governance_id, offsetof(struct parts, single.kid), false, NULL},
      {"keys", read_keys, offsetof(struct parts, listed), false, NULL},
      {"issuer", governance_id, offsetof(struct parts, issuer), false, NULL},
  };
  governance_read_members(r, pointer, v, fields, COUNT(fields), &parts);
  *s = parts.listed;
  s->issuer = parts.issuer;
  bool one = json_get(v, STR("key_file")), several = json_get(v, STR("keys"));
  if (json_is(v, JSON_OBJECT) && one == several)
    governance_report(r, pointer, "needs either the member \"key_file\" or the member \"keys\"");
  else if (several && parts.single.kid.p) governance_report(r, pointer, "the kid of a key belongs into \"keys\"");
  if (one) {
    s->keys = ARENA_NEW(r->arena, struct signing_key);
    *s->keys = parts.single;
    s->keys->pointer = pointer;
    s->count = 1;
  }
  check_ids(r, s);
  r->governance->signing = s;
}

void governance_read_signing(struct governance_reader *r, str pointer, const struct json *v) {
  const struct governance *g = r->governance;
  if (v) read_signing(r, pointer, v);
  for (size_t i = 0; i < g->adapter_count && !v; i++)
    if (g->adapters[i].signs)
      governance_report(r, g->adapters[i].pointer, "sign_metadata needs the member \"signing\" of the file");
}

void governance_signing_done(struct governance *g) {
  for (size_t i = 0; g->signing && i < g->signing->count; i++) ed25519_free(&g->signing->keys[i].key);
}

// ---- keys

static str written(struct arena *a, const struct ed25519 *key,
                   void (*put)(const struct ed25519 *key, struct buf *out)) {
  struct buf b;
  buf_init(&b, KEY_TEXT);
  put(key, &b);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static str make_head(struct arena *a, str kid) {
  str text = arena_printf(a, "{\"alg\":\"EdDSA\",\"typ\":\"toolgate-decision+jwt\",\"kid\":%.*s}",
                          STR_ARG(json_escaped(a, kid)));
  struct buf b;
  buf_init(&b, 2 * text.n + 8);
  base64_encode(text, BASE64_URL, &b);
  str head = arena_str(a, buf_view(&b));
  buf_done(&b);
  return head;
}

size_t governance_key_count(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->signing ? g->signing->count : 0;
}

str governance_key_file(const struct governance *g, size_t index, str *out_pointer) {
  ASSERT(index < governance_key_count(g));
  *out_pointer = g->signing->keys[index].pointer;
  return g->signing->keys[index].file;
}

bool governance_key_set(struct governance *g, size_t index, str pem, struct fault *f) {
  ASSERT(index < governance_key_count(g));
  struct governance_signing *s = g->signing;
  struct signing_key *k = &s->keys[index];
  struct ed25519 *key = ed25519_read(pem);
  ASSERT(!k->key);
  if (!key || (!index && !ed25519_can_sign(key))) {
    fault_set(f, FAULT_INVALID, "must be %s in PEM format, without a password",
              index ? "an Ed25519 key" : "a private Ed25519 key");
    ed25519_free(&key);
    return false;
  }
  str text = written(&g->arena, key, ed25519_put_public);
  str kid = k->kid.p ? k->kid : written(&g->arena, key, ed25519_put_thumbprint);
  for (size_t i = 0; i < s->count; i++) {
    if (i == index || !s->keys[i].key) continue;
    if (!str_eq(s->keys[i].x, text) && !str_eq(s->keys[i].kid, kid)) continue;
    fault_set(f, FAULT_INVALID, "is the same key, or has the same kid, as keys[%zu]", i);
    ed25519_free(&key);
    return false;
  }
  k->key = key;
  k->x = text;
  k->kid = kid;
  k->head = make_head(&g->arena, kid);
  return true;
}

bool governance_key_signs(const struct governance *g, size_t index) {
  ASSERT(index < governance_key_count(g) && g->signing->keys[index].key);
  return ed25519_can_sign(g->signing->keys[index].key);
}

void governance_issuer_set(struct governance *g, str issuer) {
  ASSERT(governance_key_count(g));
  if (!g->signing->issuer.p) g->signing->issuer = arena_str(&g->arena, issuer);
}

void governance_put_keys(const struct governance *g, struct buf *out) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_put_key(&w, STR("keys"));
  json_begin_array(&w);
  for (size_t i = 0; i < governance_key_count(g); i++) {
    const struct signing_key *k = &g->signing->keys[i];
    ASSERT(k->key);
    json_begin_object(&w);
    json_member_str(&w, STR("kty"), STR("OKP"));
    json_member_str(&w, STR("crv"), STR("Ed25519"));
    json_member_str(&w, STR("use"), STR("sig"));
    json_member_str(&w, STR("alg"), STR("EdDSA"));
    json_member_str(&w, STR("kid"), k->kid);
    json_member_str(&w, STR("x"), k->x);
    json_end_object(&w);
  }
  json_end_array(&w);
  json_end_object(&w);
  buf_char(out, '\n');
}

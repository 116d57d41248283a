// SPDX-License-Identifier: Apache-2.0
// Stores pins as entries of the store: one entry for each tool, and one for the identity of each server. The id of an
// entry is a hash of the names of server and tool, because names can be longer than an id.
#include "base/assert.h"
#include "catalog/pins/pins_impl.h"
#include "store/shared.h"

static const str kind = STR("pins");

void pins_put_findings(struct json_writer *w, const struct pin *pin, str reviewed, unsigned foreign) {
  json_put_key(w, STR("findings"));
  json_begin_array(w);
  for (int i = 0; i < PIN_FINDINGS; i++) {
    if (!(pin->findings & 1u << i)) continue;
    json_begin_object(w);
    json_member_str(w, STR("kind"), str_of(pin_finding_name((enum pin_finding)i)));
    str text = foreign & 1u << i ? STR("a tool of another tenant") : pin->why[i].p ? pin->why[i] : STR("");
    json_member_str(w, STR("text"), text);
    json_member_bool(w, reviewed, pin->reviewed & 1u << i);
    json_end_object(w);
  }
  json_end_array(w);
}

void pins_put_raw_or_null(struct json_writer *w, str key, str text) {
  json_put_key(w, key);
  if (text.p) json_put_raw(w, text);
  else json_put_null(w);
}

enum { ID_SIZE = 2 * SHA256_SIZE + 1 };

static void make_id(const struct pin *pin, char id[ID_SIZE]) {
  unsigned char hash[SHA256_SIZE];
  struct buf b;
  buf_init(&b, 6 * (pin->server->name.n + pin->tool.n) + 16);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  json_put_str(&w, pin->server->name);
  json_put_str(&w, pin->tool);
  json_end_array(&w);
  ASSERT(!b.over);
  hash_sha256(buf_view(&b), hash);
  hash_hex(hash, sizeof hash, id);
  buf_done(&b);
}

void pins_remove(struct pins *p, const struct pin *pin) {
  char id[ID_SIZE];
  make_id(pin, id);
  entry_take(p->opt.store, kind, str_of(id), NULL);
}

void pins_save(struct pins *p, const struct pin *pin) {
  char id[ID_SIZE];
  struct buf b;
  make_id(pin, id);
  buf_init(&b, SHARED_BYTES);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("server"), pin->server->name);
  json_member_str(&w, STR("tool"), pin->tool);
  json_member_int(&w, STR("accepted_ms"), pin->at);
  json_member_int(&w, STR("first_ms"), pin->first_at);
  json_member_bool(&w, STR("by_operator"), pin->by_operator);
  pins_put_raw_or_null(&w, STR("accepted"), pin->accepted);
  pins_put_raw_or_null(&w, STR("current"), pin->current);
  pins_put_findings(&w, pin, STR("reviewed"), 0);
  json_end_object(&w);
  if (b.over)
    log_error(p->opt.log, "%.*s: the pin of a tool is too large and is lost when the gateway ends",
              STR_ARG(pin->server->name));
  else entry_put(p->opt.store, kind, str_of(id), buf_view(&b), UINT64_MAX, NULL);
  buf_done(&b);
}

// ---- reading

static void read_findings(struct pin *pin, const struct json *list, struct arena *a) {
  if (!json_is(list, JSON_ARRAY)) return;
  JSON_EACH(it, list)
    for (int i = 0; i < PIN_FINDINGS; i++) {
      str text = STR_NONE;
      if (!json_equals_str(json_get(it, STR("kind")), str_of(pin_finding_name((enum pin_finding)i)))) continue;
      pin->findings |= (uint8_t)(1u << i);
      if (json_is(json_get(it, STR("reviewed")), JSON_TRUE)) pin->reviewed |= (uint8_t)(1u << i);
      if (json_string(json_get(it, STR("text")), a, &text)) pin_set(&pin->why[i], text);
    }
}

static bool read_pin(struct pins *p, str text, struct arena *a) {
  struct fault f;
  str server, tool;
  const struct json *v = json_parse(a, text, &json_default_limits, &f);
  if (!json_string(json_get(v, STR("server")), a, &server) || !json_string(json_get(v, STR("tool")), a, &tool))
    return false;
  struct pin *pin = pins_tool(p, pins_server(p, server), tool);
  const struct json *accepted = json_get(v, STR("accepted")), *current = json_get(v, STR("current"));
  pin_set(&pin->accepted, json_is(accepted, JSON_OBJECT) ? json_span(accepted) : STR_NONE);
  pin_set(&pin->current, json_is(current, JSON_OBJECT) ? json_span(current) : STR_NONE);
  json_int(json_get(v, STR("accepted_ms")), &pin->at);
  pin->first_at = pin->at;
  json_int(json_get(v, STR("first_ms")), &pin->first_at);
  pin->by_operator = json_is(json_get(v, STR("by_operator")), JSON_TRUE);
  pin->findings = pin->reviewed = 0;
  read_findings(pin, json_get(v, STR("findings")), a);
  pin->before = pin->findings & (uint8_t)~pin->reviewed;
  pin->told = pin_state_of(pin);
  return pin->accepted.p || pin->current.p;
}

static bool on_entry(void *ctx, const struct shared_entry *e) {
  struct pins *p = ctx;
  struct arena a;
  arena_init(&a);
  if (!read_pin(p, arena_str(&a, e->bytes), &a)) {
    log_error(p->opt.log, "the stored pin %.*s is damaged; no tool is accepted without an operator", STR_ARG(e->id));
    p->unreadable = true;
  }
  arena_done(&a);
  return true;
}

void pins_load(struct pins *p) {
  struct fault f;
  struct entry_search search = {.each = on_entry, .ctx = p};
  entry_find(p->opt.store, kind, &search);
  ASSERT(search.read.over);  // every store backend finishes a read before it returns
  if (store_answered(&search.read, &f)) return;
  log_error(p->opt.log, "the pins of tools cannot be read, so no tool is accepted without an operator: %s", f.message);
  p->unreadable = true;
}

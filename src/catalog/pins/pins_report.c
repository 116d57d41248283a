// SPDX-License-Identifier: Apache-2.0
// Lists pins and accepts definitions, for operators.
#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "catalog/pins/pins_impl.h"

static bool is_chosen(const struct pin *pin, const struct pins_choice *which) {
  if (!pin->accepted.p && !pin->current.p) return false;
  if (which->server.n && !str_eq(pin->server->name, which->server)) return false;
  bool changed_server = which->server_too && !pin->tool.n && pin_state_of(pin) != PIN_ACCEPTED;
  if (which->tool.n && !str_eq(pin->tool, which->tool) && !changed_server) return false;
  if (which->pending && pin_state_of(pin) == PIN_ACCEPTED) return false;
  return !which->may || which->may(which->ctx, pin->server->name, pin->tool);
}

static int compare(const void *x, const void *y) {
  const struct pin *a = *(struct pin *const *)x, *b = *(struct pin *const *)y;
  int by_server = str_cmp(a->server->name, b->server->name);
  return by_server ? by_server : str_cmp(a->tool, b->tool);
}

// Returns the chosen pins, ordered by server and tool. The caller frees the list.
static struct pin **choose(const struct pins *p, const struct pins_choice *which, size_t *out_count) {
  struct pins_walk walk = {0};
  struct pin **list = NULL;
  size_t count = 0, cap = 0;
  for (struct pin *pin; (pin = pins_next(p, &walk));) {
    if (!is_chosen(pin, which)) continue;
    if (count == cap) list = mem_grow(list, (cap = cap ? 2 * cap : 64) * sizeof *list);
    list[count++] = pin;
  }
  if (count) qsort(list, count, sizeof(struct pin *), compare);
  *out_count = count;
  return list;
}

enum { HEX = 2 * SHA256_SIZE + 1 };

// Writes the hash of the definition that the server lists now.
static void hash_current(const struct pin *pin, char hex[HEX]) {
  unsigned char hash[SHA256_SIZE];
  hash_sha256(pin->current.p ? pin->current : pin->accepted, hash);
  hash_hex(hash, sizeof hash, hex);
}

static bool has_hash(const struct pin *pin, str sha256) {
  char hex[HEX];
  if (!sha256.n) return true;
  hash_current(pin, hex);
  return str_eq(str_of(hex), sha256);
}

// Returns the findings whose texts name a tool that the tenant may not use.
static unsigned foreign_findings(const struct pins *p, const struct pins_choice *which, const struct pin *pin) {
  unsigned set = 0;
  for (int i = PIN_LOOKALIKE; which->may && i <= PIN_SAME_NAME; i++) {
    if (!(pin->findings & 1u << i)) continue;
    const struct pin *original = pins_original(p, pin, (enum pin_finding)i);
    if (!original || !which->may(which->ctx, original->server->name, original->tool)) set |= 1u << i;
  }
  return set;
}

static void put_pin(const struct pins *p, const struct pins_choice *which, const struct pin *pin, bool whole,
                    struct json_writer *w) {
  json_begin_object(w);
  json_member_str(w, STR("server"), pin->server->name);
  json_member_str_or_null(w, STR("tool"), pin->tool.n ? pin->tool : STR_NONE);
  json_member_str(w, STR("state"), str_of(pin_state_name(pin_state_of(pin))));
  json_member_bool(w, STR("listed"), pin->listed);
  if (pin->accepted.p) {
    json_member_int(w, STR("accepted_at"), pin->at);
    json_member_str(w, STR("accepted_by"), pin->by_operator ? STR("operator") : STR("first_use"));
  }
  char hex[HEX];
  hash_current(pin, hex);
  json_member_str(w, STR("sha256"), str_of(hex));
  pins_put_findings(w, pin, STR("accepted"), foreign_findings(p, which, pin));
  if (whole) {
    pins_put_raw_or_null(w, STR("accepted"), pin->accepted);
    pins_put_raw_or_null(w, STR("current"), pin->current.p ? pin->current : pin->accepted);
  }
  json_end_object(w);
}

size_t pins_put(const struct pins *p, const struct pins_choice *which, bool whole, struct json_writer *w) {
  size_t count;
  ASSERT_MAGIC(p, PINS_MAGIC);
  struct pin **list = choose(p, which, &count);
  json_begin_array(w);
  for (size_t i = 0; i < count; i++) put_pin(p, which, list[i], whole, w);
  json_end_array(w);
  mem_free(list);
  return count;
}

size_t pins_accept(struct pins *p, const struct pins_choice *which, struct json_writer *w) {
  struct pins_choice pending = *which;
  size_t count;
  ASSERT_MAGIC(p, PINS_MAGIC);
  pending.pending = true;
  struct pin **list = choose(p, &pending, &count);
  json_begin_array(w);
  size_t accepted = 0;
  for (size_t i = 0; i < count; i++) {
    if (!has_hash(list[i], which->sha256)) continue;
    pins_accept_one(p, list[i], true);
    put_pin(p, which, list[i], false, w);
    accepted++;
  }
  json_end_array(w);
  mem_free(list);
  return accepted;
}

// SPDX-License-Identifier: Apache-2.0
// Entries of servers as clients write them, each read as every client's: what is taken over is a JSON object that the
// configuration can be asked about, and a second reading of it changes nothing.
#include "app/clients/client_entry.h"
#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { INPUT_BYTES = 1 << 14 };

static void read_as(struct client_world *w, enum client_id id, enum client_scope scope, const struct json *entry) {
  struct client_place p = {.client = id, .scope = scope, .file = STR("/f"), .key = "mcpServers"};
  struct client_entry out, again;
  struct fault f = {0};
  client_entry_read(w, &p, STR("name"), entry, &out);
  ASSERT((out.json.n > 0) == !out.why && out.note_count <= CLIENT_MOST_NOTES);
  for (size_t i = 0; i < out.note_count; i++) ASSERT(out.notes[i].n && !memchr(out.notes[i].p, '\n', out.notes[i].n));
  if (!out.json.n) return;
  const struct json *taken = json_parse(w->arena, out.json, &json_default_limits, &f);
  ASSERT(json_is(taken, JSON_OBJECT) && (json_get(taken, STR("command")) || json_get(taken, STR("url"))));
  struct client_place own = {
      .client = CLIENT_CLAUDE_CODE, .scope = CLIENT_USER, .file = STR("/f"), .key = "mcpServers"};
  client_entry_read(w, &own, STR("name"), taken, &again);
  ASSERT(!again.why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena a;
  struct fault f = {0};
  if (n > INPUT_BYTES) return 0;
  arena_init(&a);
  struct client_world w = {.arena = &a, .home = STR("/h"), .folder = STR("/h/p")};
  const struct json *entry = json_parse(&a, (str){(const char *)data, n}, &json_default_limits, &f);
  for (int id = 0; entry && id < CLIENTS; id++) {
    read_as(&w, (enum client_id)id, CLIENT_PROJECT, entry);
    read_as(&w, (enum client_id)id, CLIENT_USER, entry);
  }
  arena_done(&a);
  return 0;
}

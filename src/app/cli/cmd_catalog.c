// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "app/cli/command.h"
#include "app/gateway_client/inventory.h"
#include "govern/agents.h"
#include "govern/provisional.h"
#include "text/oneline.h"

static const struct command command = {
    .usage = "[options]",
    .about = "Lists all tools, resources and prompts of the servers: id, class, safety if the\n"
             "server states it, and the tokens of the full definition. With a governance file,\n"
             "also the highest approval mode of each tool. Exit code 1: a server failed or has\n"
             "an invalid configuration, or a definition was left out.",
    .options = "cmuCWjY",
};

enum { MAX_OUTPUT = 1 << 30 };

struct listing {
  const struct inventory *inventory;
  const struct governance *governance;  // NULL without a governance file
};

// Returns the capability of a tool, or NULL.
static const struct governance_capability *capability_of(const struct listing *l, const struct entry *e) {
  if (!l->governance || e->item->kind != ITEM_TOOL) return NULL;
  str server = l->inventory->servers[e->source].name;
  governance_note_tool(l->governance, server, e->item->name, e->item->hints);
  return governance_find_tool(l->governance, server, e->item->name);
}

static const char *class_of(const struct governance_capability *c, const struct entry *e, enum directory_kind kind) {
  return c ? capability_class_name((enum capability_class)c->class) : entry_class(e, kind);
}

static const char *mode_of(const struct governance_capability *c) {
  return approval_mode_name((enum approval_mode)c->mode);
}

// ---- text

static void put_word(struct buf *out, const char *word, int width) {
  buf_printf(out, "  %-*s", width, *word ? word : "-");
}

// Appends the name that the server gives the entry, if it differs from the last part of the entry's id.
static void put_name(struct buf *out, const struct entry *e) {
  struct arena a;
  if (str_eq(e->leaf, e->item->name)) return;
  arena_init(&a);
  buf_printf(out, "  (%.*s)", STR_ARG(oneline(&a, e->item->name)));
  arena_done(&a);
}

static void put_mode(struct buf *out, const struct governance_capability *c, enum directory_kind kind) {
  char text[64];
  if (!c && kind == DIRECTORY_TOOLS) snprintf(text, sizeof text, "no capability");
  else snprintf(text, sizeof text, "%s%s", c ? mode_of(c) : "", c && c->provisional ? " (provisional)" : "");
  put_word(out, text, 25);
}

static void put_entries(struct buf *out, const struct listing *l, unsigned source, enum directory_kind kind) {
  const struct inventory *i = l->inventory;
  const struct kind_index *kind_index = &i->directory->kind_indexes[kind];
  for (size_t k = 0; k < kind_index->count; k++) {
    const struct entry *e = &kind_index->entries[k];
    if (e->source != source || e->hidden) continue;
    put_word(out, directory_kind_name(kind), 8);
    const struct governance_capability *c = capability_of(l, e);
    put_word(out, class_of(c, e, kind), 13);
    if (l->governance) put_mode(out, c, kind);
    put_word(out, card_safety_name(e->card.safety), 11);
    buf_printf(out, "  %6zu  %.*s", i->tokens[kind][k], STR_ARG(e->card.id));
    put_name(out, e);
    buf_char(out, '\n');
  }
}

static void put_server(struct buf *out, const struct listing *l, unsigned source) {
  const struct inventory *i = l->inventory;
  ASSERT(source < i->server_count);
  const struct inventory_server *s = &i->servers[source];
  size_t count = 0;
  buf_printf(out, "%.*s", STR_ARG(s->name));
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) {
    const char *name = directory_kind_name((enum directory_kind)kind);
    buf_printf(out, "%s %zu %s%s", count++ ? "," : ":", s->count[kind], name, s->count[kind] == 1 ? "" : "s");
  }
  buf_printf(out, ", %zu tokens\n", s->tokens);
  if (s->error) buf_printf(out, "  not available: %s\n", s->error);
  if (s->tokens)
    buf_printf(out, "  kind      class          %ssafety       tokens  id\n",
               l->governance ? "approval mode              " : "");
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) put_entries(out, l, source, (enum directory_kind)kind);
  buf_char(out, '\n');
}

static void put_report(struct buf *out, const struct directory *d) {
  if (d->note_count) buf_str(out, STR("report\n"));
  for (size_t k = 0; k < d->note_count; k++) {
    const struct directory_note *n = &d->notes[k];
    buf_printf(out, "  %.*s: %.*s: %.*s%s\n", STR_ARG(n->server), STR_ARG(n->name), STR_ARG(n->reason),
               n->skipped   ? " (left out)"
               : n->unsound ? " (calls fail)"
                            : "");
  }
  if (d->note_count) buf_char(out, '\n');
}

static void put_text(struct buf *out, const struct listing *l) {
  const struct inventory *i = l->inventory;
  size_t items = 0, tokens = 0;
  for (unsigned k = 0; k < i->server_count; k++) {
    put_server(out, l, k);
    tokens += i->servers[k].tokens;
    for (int kind = 0; kind < DIRECTORY_KINDS; kind++) items += i->servers[k].count[kind];
  }
  put_report(out, i->directory);
  buf_printf(out, "%zu server%s, %zu item%s, %zu tokens\n", i->server_count, i->server_count == 1 ? "" : "s", items,
             items == 1 ? "" : "s", tokens);
}

// ---- JSON

// Without a capability, the class of a governed tool follows only the hints of its server.
static void put_class(struct json_writer *w, const struct listing *l, const struct entry *e, enum directory_kind kind) {
  const struct governance_capability *c = capability_of(l, e);
  json_member_str(w, STR("class"), str_of(class_of(c, e, kind)));
  if (c) json_member_str(w, STR("capability"), c->id);
  if (c) json_member_str(w, STR("approval_mode"), str_of(mode_of(c)));
  if (l->governance && kind == DIRECTORY_TOOLS && (!c || c->provisional)) json_member_bool(w, STR("provisional"), true);
}

static void put_item(struct json_writer *w, const struct listing *l, enum directory_kind kind, size_t at) {
  const struct inventory *i = l->inventory;
  const struct entry *e = &i->directory->kind_indexes[kind].entries[at];
  ASSERT(e->source < i->server_count && i->tokens[kind]);
  const struct inventory_server *s = &i->servers[e->source];
  const char *safety = card_safety_name(e->card.safety);
  json_begin_object(w);
  json_member_str(w, STR("id"), e->card.id);
  json_member_str(w, STR("kind"), str_of(directory_kind_name(kind)));
  if (e->item->kind == ITEM_TEMPLATE) json_member_bool(w, STR("template"), true);
  json_member_str(w, STR("name"), e->item->name);
  json_member_str(w, STR("server"), s->name);
  json_member_str(w, STR("namespace"), e->card.namespace);
  put_class(w, l, e, kind);
  json_member_str(w, STR("safety"), str_of(*safety ? safety : "unknown"));
  json_member_u64(w, STR("tokens"), i->tokens[kind][at]);
  json_member_bool(w, STR("available"), s->available);
  json_end_object(w);
}

static void put_notes(struct json_writer *w, const struct directory *d) {
  json_put_key(w, STR("report"));
  json_begin_array(w);
  for (size_t k = 0; k < d->note_count; k++) {
    json_begin_object(w);
    json_member_str(w, STR("server"), d->notes[k].server);
    json_member_str(w, STR("name"), d->notes[k].name);
    json_member_str(w, STR("reason"), d->notes[k].reason);
    json_member_bool(w, STR("skipped"), d->notes[k].skipped);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_json(struct buf *out, const struct listing *l) {
  const struct inventory *i = l->inventory;
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_put_key(&w, STR("items"));
  json_begin_array(&w);
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++)
    for (size_t k = 0; k < i->directory->kind_indexes[kind].count; k++)
      if (!i->directory->kind_indexes[kind].entries[k].hidden) put_item(&w, l, (enum directory_kind)kind, k);
  json_end_array(&w);
  json_put_key(&w, STR("servers"));
  json_begin_array(&w);
  for (size_t k = 0; k < i->server_count; k++) {
    json_begin_object(&w);
    inventory_put_server(&w, &i->servers[k]);
    json_end_object(&w);
  }
  json_end_array(&w);
  put_notes(&w, i->directory);
  json_end_object(&w);
  buf_char(out, '\n');
}

static int list(struct gateway_client *client, bool json) {
  struct inventory i;
  struct fault f;
  struct buf out;
  if (!inventory_take(client, &i, &f)) {
    return command_failed(&f, EXIT_CANNOT);
  }
  struct listing l = {&i, client->config.governance};
  buf_init(&out, MAX_OUTPUT);
  if (json) put_json(&out, &l);
  else put_text(&out, &l);
  command_print_done(&out);
  int status = inventory_complete(&i) && !client->left_out ? EXIT_OK : EXIT_NO;
  inventory_done(&i);
  return status;
}

int cmd_catalog(int argc, char **argv) {
  struct arguments args = {0};
  struct gateway_client client;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (!gateway_client_open(&client, &args.config, &status)) return status;
  status = list(&client, args.json);
  gateway_client_close(&client);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
#include "app/cli/adapter/adapter_write.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "govern/govern.h"
#include "json/write.h"

// Makes the id of the adapter: "adp_" and the name of the server. '_' replaces dots, which ids must not contain, and
// other ASCII punctuation.
static str adapter_id(str server, struct arena *a) {
  char *id = arena_cstr(a, arena_printf(a, "adp_%.*s", STR_ARG(server)));
  for (char *c = id; *c; c++)
    if (!ascii_is_alnum(*c) && *c != '-' && (unsigned char)*c < 0x80) *c = '_';
  return utf8_cut(str_of(id), GOVERNANCE_ID_MAX);
}

// ---- YAML

// Writes a double-quoted scalar. Escapes everything except printable ASCII: YAML treats some other characters as line
// ends, and other letters could pass for ASCII letters when a person reviews the file.
static void put_quoted(struct buf *out, str s) {
  buf_char(out, '"');
  while (s.n) {
    uint32_t c = utf8_next(&s);
    if (c == '"' || c == '\\') buf_printf(out, "\\%c", (int)c);
    else if (c >= ' ' && c < 0x7f) buf_char(out, (char)c);
    else buf_printf(out, c > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)c);
  }
  buf_char(out, '"');
}

static void put_member(struct buf *out, const char *key, str value) {
  if (!value.p) return;
  buf_printf(out, "%s: ", key);
  put_quoted(out, value);
  buf_char(out, '\n');
}

static const struct adapter_tool *first_usable(const struct adapter_draft *d) {
  size_t i = 0;
  while (i < d->count && !d->tools[i].usable) i++;
  return i < d->count ? &d->tools[i] : NULL;
}

// Indents a line by `in` blanks, or by fewer in a manifest: its adapter is not an element of a list.
static void put_start(struct buf *out, const struct adapter_draft *d, int in) {
  buf_printf(out, "%*s", d->manifest ? in - 4 : in, "");
}

static void put_line(struct buf *out, const struct adapter_draft *d, int in, const char *key, str value) {
  if (!value.p) return;
  put_start(out, d, in);
  put_member(out, key, value);
}

static void put_capability(struct buf *out, const struct adapter_draft *d, const struct adapter_tool *t) {
  if (!t->usable) {
    put_start(out, d, 6);
    buf_str(out, STR("# left out, because ids have 1 to 256 bytes and no control characters: "));
    put_quoted(out, t->name);
    buf_char(out, '\n');
    return;
  }
  put_line(out, d, 6, "- name", t->name);
  put_start(out, d, 8);
  buf_printf(out, "class: %s\n", capability_class_name(t->class));
  put_start(out, d, 8);
  buf_printf(out, "approval_mode: %s\n", approval_mode_name(t->mode));
  put_start(out, d, 8);
  buf_str(out, STR("provisional: true  # class and mode are from the server's hints\n"));
  put_line(out, d, 8, "input_schema", t->input_schema);
  put_line(out, d, 8, "output_schema", t->output_schema);
}

static void put_permissions(struct buf *out, str id, str capability) {
  buf_str(out,
          STR("\n# A capability without a permission cannot be used. This permission allows one of them to a role:\n"
              "# permissions:\n"
              "#   - permission_id: \"perm_1\"\n"));
  put_member(out, "#     adapter_id", id);
  put_member(out, "#     capability", capability);
  buf_str(out, STR("#     allow: true\n"
                   "#     roles: [\"support\"]\n"));
}

static const char review[] =
    "# The tools of one server, and the most that each may do. Classes and modes are provisional: they\n"
    "# follow hints of the server, which nobody has verified. Review each, then remove `provisional`.\n";

static void put_adapter(struct buf *out, const struct adapter_draft *d, str id) {
  put_line(out, d, d->manifest ? 4 : 2, d->manifest ? "adapter_id" : "- adapter_id", id);
  put_start(out, d, 4);
  buf_str(out, STR("type: MCP\n"));
  put_line(out, d, 4, "server", d->server);
  put_line(out, d, 4, "version", d->live.version);
  put_line(out, d, 4, "protocol", d->live.protocol);
  put_line(out, d, 4, "protocol_version", d->live.protocol_version);
  put_line(out, d, 4, "transport", d->live.transport);
  put_start(out, d, 4);
  buf_str(out, first_usable(d) ? STR("capabilities:\n") : STR("capabilities: []\n"));
  for (size_t i = 0; i < d->count; i++) put_capability(out, d, &d->tools[i]);
}

void adapter_write_yaml(struct buf *out, const struct adapter_draft *d) {
  const struct adapter_tool *example = first_usable(d);
  struct arena a;
  arena_init(&a);
  str id = adapter_id(d->server, &a);
  buf_str(out, str_of(review));
  if (!d->manifest) buf_str(out, STR("adapters:\n"));
  put_adapter(out, d, id);
  if (example && !d->manifest) put_permissions(out, id, example->name);
  arena_done(&a);
}

// ---- JSON

static void put_known(struct json_writer *w, str key, str value) {
  if (value.p) json_member_str(w, key, value);
}

static void put_json_capability(struct json_writer *w, const struct adapter_tool *t) {
  json_begin_object(w);
  json_member_str(w, STR("name"), t->name);
  json_member_str(w, STR("class"), str_of(capability_class_name(t->class)));
  json_member_str(w, STR("approval_mode"), str_of(approval_mode_name(t->mode)));
  json_member_bool(w, STR("provisional"), true);
  put_known(w, STR("input_schema"), t->input_schema);
  put_known(w, STR("output_schema"), t->output_schema);
  json_end_object(w);
}

static void put_json_adapter(struct json_writer *w, const struct adapter_draft *d, str id) {
  json_begin_object(w);
  json_member_str(w, STR("adapter_id"), id);
  json_member_str(w, STR("type"), STR("MCP"));
  json_member_str(w, STR("server"), d->server);
  put_known(w, STR("version"), d->live.version);
  put_known(w, STR("protocol"), d->live.protocol);
  put_known(w, STR("protocol_version"), d->live.protocol_version);
  put_known(w, STR("transport"), d->live.transport);
  json_put_key(w, STR("capabilities"));
  json_begin_array(w);
  for (size_t i = 0; i < d->count; i++)
    if (d->tools[i].usable) put_json_capability(w, &d->tools[i]);
  json_end_array(w);
  json_end_object(w);
}

void adapter_write_json(struct buf *out, const struct adapter_draft *d) {
  struct json_writer w = json_writer(out);
  struct arena a;
  arena_init(&a);
  str id = adapter_id(d->server, &a);
  if (d->manifest) {
    put_json_adapter(&w, d, id);
  } else {
    json_begin_object(&w);
    json_put_key(&w, STR("adapters"));
    json_begin_array(&w);
    put_json_adapter(&w, d, id);
    json_end_array(&w);
    json_put_key(&w, STR("permissions"));
    json_begin_array(&w);
    json_end_array(&w);
    json_end_object(&w);
  }
  buf_char(out, '\n');
  arena_done(&a);
}

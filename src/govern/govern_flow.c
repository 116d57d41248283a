// SPDX-License-Identifier: Apache-2.0
// Reads the marks of the flow guard, and finds the marks of a tool.
#include "base/assert.h"
#include "base/buf.h"
#include "base/text/glob.h"
#include "govern/govern_impl.h"

enum { KEEP_SECONDS = 24 * 3600 };

static const struct {
  unsigned bit;
  const char *name;
} marks[FLOW_MARKS] = {
    {FLOW_READS_PRIVATE, "reads_private"},
    {FLOW_UNTRUSTED_INPUT, "untrusted_input"},
    {FLOW_SENDS_OUT, "sends_out"},
};

const char *flow_mark_name(unsigned bit) {
  for (size_t i = 0; i < FLOW_MARKS; i++)
    if (marks[i].bit == bit) return marks[i].name;
  return NULL;
}

unsigned flow_mark_find(str name) {
  for (size_t i = 0; i < FLOW_MARKS; i++)
    if (str_eq(str_of(marks[i].name), name)) return marks[i].bit;
  return 0;
}

// ---- reading

void flow_marks_put(struct json_writer *w, unsigned set) {
  json_begin_array(w);
  for (size_t i = 0; i < FLOW_MARKS; i++)
    if (set & marks[i].bit) json_put_str(w, str_of(marks[i].name));
  json_end_array(w);
}

bool flow_marks_read(const struct json *v, struct arena *a, unsigned *out) {
  unsigned set = 0;
  if (!json_is(v, JSON_ARRAY)) return false;
  JSON_EACH(it, v) {
    str name = STR("");
    json_string(it, a, &name);
    unsigned bit = flow_mark_find(name);
    if (!bit || (set & bit)) return false;
    set |= bit;
  }
  *out = set;
  return true;
}

void governance_read_marks(struct governance_reader *r, str pointer, const struct json *v,
                           const struct governance_field *f, void *to) {
  unsigned set = 0;
  if (!flow_marks_read(v, r->arena, &set) || !set) {
    governance_report(r, pointer, "must be a list of reads_private, untrusted_input and sends_out, each at most once");
    return;
  }
  *(uint8_t *)to = (uint8_t)set;
  r->governance->flow.marked = true;
}

#define AT(member) offsetof(struct governance_flow_entry, member)
static void read_entry(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  static const struct governance_field fields[] = {
      {"tools", governance_texts, AT(tools), false, NULL},
      {"servers", governance_texts, AT(servers), false, NULL},
      {"flow", governance_read_marks, AT(marks), true, NULL},
  };
  struct governance_flow_entry *e = into;
  e->pointer = pointer;
  governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, e);
  if (!e->tools.count && !e->servers.count) governance_report(r, pointer, "needs the member \"tools\" or \"servers\"");
  for (size_t i = 0; i < e->tools.count; i++)
    if (!memchr(e->tools.list[i].p, ':', e->tools.list[i].n))
      governance_report(r, pointer, "the pattern \"%.*s\" must have the form SERVER:TOOL", STR_ARG(e->tools.list[i]));
}
#undef AT

static void read_entries(struct governance_reader *r, str pointer, const struct json *v,
                         const struct governance_field *f, void *to) {
  struct governance_flow *flow = to;
  flow->entries = governance_read_list(r, pointer, v, sizeof *flow->entries, read_entry, &flow->entry_count);
}

static void read_mode(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  governance_choice(r, pointer, v, f, to);
  ++*(uint8_t *)to;  // the list of words has no word for FLOW_UNSET, the first value
}

void governance_read_flow(struct governance_reader *r, str pointer, const struct json *v) {
  static const char *const modes[] = {"off", "warn", "enforce", NULL}, *const scopes[] = {"session", "agent", NULL};
#define AT(member) offsetof(struct governance_flow, member)
  static const struct governance_field fields[] = {
      {"mode", read_mode, AT(mode), false, modes},
      {"scope", governance_choice, AT(scope), false, scopes},
      {"keep_seconds", governance_count, AT(keep_s), false, NULL},
      {"marks", read_entries, 0, false, NULL},
  };
#undef AT
  struct governance_flow *flow = &r->governance->flow;
  flow->keep_s = KEEP_SECONDS;
  if (json_is(v, JSON_STRING)) read_mode(r, pointer, v, &fields[0], &flow->mode);
  else if (v) governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, flow);
}

// ---- use

const struct governance_flow *governance_flow_of(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->flow.marked && g->flow.mode != FLOW_OFF ? &g->flow : NULL;
}

static void add_marks(struct flow_marks *out, unsigned set, str pointer) {
  for (size_t i = 0; i < FLOW_MARKS; i++)
    if ((set & ~out->set) & marks[i].bit) out->pointers[i] = pointer;
  out->set |= set;
}

// Returns whether the entry marks an item of the server. `name` is SERVER:TOOL, or empty if the item is no tool.
static bool covers(const struct governance_flow_entry *e, str server, str name) {
  for (size_t i = 0; i < e->servers.count; i++)
    if (str_eq(e->servers.list[i], server)) return true;
  for (size_t i = 0; name.n && i < e->tools.count; i++)
    if (glob_match(e->tools.list[i], name)) return true;
  return false;
}

struct flow_marks governance_flow_marks(const struct governance *g, str server, str tool) {
  struct flow_marks out = {0};
  const struct governance_flow *flow = governance_flow_of(g);
  if (!flow) return out;
  const struct governance_capability *c = tool.p ? governance_find_tool(g, server, tool) : NULL;
  if (c && c->flow) add_marks(&out, c->flow, c->flow_pointer);
  struct buf name;
  buf_init(&name, server.n + tool.n + 2);
  if (tool.p) buf_printf(&name, "%.*s:%.*s", STR_ARG(server), STR_ARG(tool));
  for (size_t i = 0; i < flow->entry_count; i++) {
    const struct governance_flow_entry *e = &flow->entries[i];
    if ((e->marks & ~out.set) && covers(e, server, buf_view(&name))) add_marks(&out, e->marks, e->pointer);
  }
  buf_done(&name);
  return out;
}

struct flow_marks governance_capability_marks(const struct governance *g, const struct governance_capability *c) {
  struct flow_marks out = {0};
  if (c->adapter->server.p) return governance_flow_marks(g, c->adapter->server, c->name);
  if (governance_flow_of(g) && c->flow) add_marks(&out, c->flow, c->flow_pointer);
  return out;
}

str flow_marks_pointer(const struct flow_marks *m) {
  for (size_t i = 0; i < FLOW_MARKS; i++)
    if (m->pointers[i].p) return m->pointers[i];
  return STR("/flow");
}

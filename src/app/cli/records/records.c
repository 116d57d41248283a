// SPDX-License-Identifier: Apache-2.0
#include "app/cli/records/records.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "govern/records.h"

// ---- members

const struct json *record_member(const struct json *v, const char *path) {
  str rest = str_of(path), name;
  for (bool more = true; more && v;) {
    more = str_cut(rest, '.', &name, &rest);
    v = json_get(v, name);
  }
  return json_is(v, JSON_NULL) ? NULL : v;
}

str record_text(struct records *r, const struct json *v, const char *path) {
  const struct json *found = record_member(v, path);
  str text = STR("-");
  if (found && !json_string(found, &r->arena, &text)) text = json_span(found);
  return text;
}

const char *record_provisional(const struct json *v) {
  bool provisional = false;
  json_bool(record_member(v, "provisional"), &provisional);
  return provisional ? " (provisional)" : "";
}

// ---- searching

// The lines found so far, ordered by time and allocated on the heap.
struct finding {
  const struct records_query *query;
  char since[CLOCK_TEXT];
  struct arena scratch;
  struct kept {
    char *text;
    size_t n;
    str time;  // time of the line; points into `text`
  } * list;
  size_t count, room;
  size_t unreadable;  // lines that no gateway has written
};

static bool is_equal(struct arena *a, const struct json *v, str wanted) {
  str text;
  return !wanted.p || (json_string(v, a, &text) && str_eq(text, wanted));
}

static bool fits(struct finding *f, const struct json *root, str time) {
  const struct records_query *q = f->query;
  const struct json *about = json_get(root, str_of(q->kind));
  return is_equal(&f->scratch, json_get(root, STR("id")), q->id) &&
         is_equal(&f->scratch, json_get(about, STR("tenant")), q->tenant) &&
         is_equal(&f->scratch, json_get(about, STR("agent")), q->agent) &&
         (!q->since_ms || str_cmp(time, str_of(f->since)) >= 0);
}

// Makes room for a line with this time. Returns false if the list is full of later lines.
static bool make_room(struct finding *f, str time) {
  if (f->count < f->query->limit) {
    if (f->count == f->room) f->list = mem_grow(f->list, (f->room = f->room ? 2 * f->room : 64) * sizeof *f->list);
    return true;
  }
  if (str_cmp(time, f->list[0].time) < 0) return false;
  mem_free(f->list[0].text);
  memmove(f->list, f->list + 1, --f->count * sizeof *f->list);
  return true;
}

static void keep(struct finding *f, str line, str time) {
  if (!make_room(f, time)) return;
  char *text = mem_alloc(line.n);
  memcpy(text, line.p, line.n);
  struct kept k = {text, line.n, {text + (time.p - line.p), time.n}};
  size_t at = f->count++;
  for (; at && str_cmp(f->list[at - 1].time, time) > 0; at--) f->list[at] = f->list[at - 1];
  f->list[at] = k;
}

// Returns whether the line is a record of this kind.
static bool is_kind(str line, const char *kind) {
  char begin[64];
  int n = snprintf(begin, sizeof begin, "{\"record\":\"%s\",", kind);
  return str_starts(line, (str){begin, (size_t)n});
}

static bool on_line(void *ctx, str line) {
  struct finding *f = ctx;
  struct fault ignored;
  if (!is_kind(line, f->query->kind)) {
    // Records of the other kinds are not parsed, because this would take time.
    f->unreadable += !is_kind(line, "decision") && !is_kind(line, "call") && !is_kind(line, "audit");
    return true;
  }
  const struct json *root = json_parse(&f->scratch, line, &json_default_limits, &ignored);
  const struct json *at = json_get(root, STR("time"));
  if (json_is(at, JSON_STRING) && !(at->flags & JSON_ESCAPED)) {
    str time = {at->p + 1, at->n - 2};
    if (fits(f, root, time)) keep(f, line, time);
  } else {
    f->unreadable++;
  }
  arena_reset(&f->scratch);
  return true;
}

// Moves the lines to the result, and frees them.
static void take(struct finding *f, struct records *out) {
  struct fault ignored;
  out->list = ARENA_ARRAY(&out->arena, struct record, f->count + 1);
  for (size_t i = 0; i < f->count; i++) {
    struct record *r = &out->list[out->count];
    struct arena *a = f->query->lines ? &f->scratch : &out->arena;
    r->line = arena_str(&out->arena, (str){f->list[i].text, f->list[i].n});
    r->root = json_parse(a, r->line, &json_default_limits, &ignored);
    if (r->root && json_string(json_get(r->root, STR("id")), &out->arena, &r->id) &&
        json_string(json_get(r->root, STR("time")), &out->arena, &r->time))
      out->count++;
    if (f->query->lines) r->root = NULL;
    arena_reset(&f->scratch);
    mem_free(f->list[i].text);
  }
  mem_free(f->list);
}

static bool search(str folder, const struct records_query *q, struct records *out, struct fault *f) {
  struct finding finding = {.query = q};
  arena_init(&finding.scratch);
  clock_print(q->since_ms, finding.since);
  bool ok = journal_read(folder, q->since_ms, on_line, &finding, f);
  arena_init(&out->arena);
  take(&finding, out);
  arena_done(&finding.scratch);
  if (finding.unreadable)
    fprintf(stderr, "toolgate: warning: %zu lines in %.*s are damaged; the other records are shown\n",
            finding.unreadable, STR_ARG(folder));
  if (!ok) records_done(out);
  return ok;
}

// ---- the configuration

static bool load(struct config *c, const struct config_options *said, int *out_status) {
  struct config_options opt = *said;
  struct config_problems problems;
  opt.transport = "stdio";  // this command opens no listener, so its address is not checked
  opt.serverless = true;
  config_problems_init(&problems);
  bool ok = config_load(c, &opt, environ, &problems);
  if (!ok) command_print_problems(&problems);
  *out_status = config_problems_status(&problems);
  config_problems_done(&problems);
  if (ok && !c->state_dir.n) {
    fputs("toolgate: nothing is recorded: the configuration has state_dir: none\n", stderr);
    *out_status = EXIT_CANNOT;
    ok = false;
  }
  return ok;
}

bool records_find(const struct config_options *opt, const struct records_query *q, struct records *out,
                  int *out_status) {
  struct config c = {0};
  struct fault f;
  *out = (struct records){0};
  bool ok = load(&c, opt, out_status);
  if (ok) {
    struct arena a;
    arena_init(&a);
    ok = search(arena_printf(&a, "%.*s/records", STR_ARG(c.state_dir)), q, out, &f);
    if (!ok) *out_status = command_failed(&f, EXIT_CANNOT);
    if (ok) out->audit = arena_str(&out->arena, c.audit_file);
    if (ok && c.governance) out->digest = arena_str(&out->arena, governance_digest(c.governance));
    arena_done(&a);
  }
  config_done(&c);
  return ok;
}

void records_done(struct records *r) {
  arena_done(&r->arena);
}

const char *records_query(const struct record_arguments *said, const char *kind, struct records_query *out) {
  uint64_t limit = RECORDS_LIMIT;
  *out = (struct records_query){.kind = kind};
  if (said->since && !command_time(said->since, &out->since_ms))
    return "--since must be a date, a time in RFC 3339, or seconds";
  if (said->limit && !(str_to_u64(str_of(said->limit), &limit) && limit && limit <= RECORDS_ALL))
    return "--limit must be a number from 1 to 1000000";
  out->limit = (size_t)limit;
  out->tenant = said->tenant ? str_of(said->tenant) : STR_NONE;
  out->agent = said->agent ? str_of(said->agent) : STR_NONE;
  return NULL;
}

// ---- commands

enum { MOST_OUTPUT = 1 << 30 };

int records_list(const struct command *c, const char *kind, records_put *put, int argc, char **argv) {
  struct arguments args = {0};
  struct records_query q;
  struct records found;
  struct buf out;
  int status;
  if (!command_parse(c, argc, argv, &args, &status)) return status;
  const char *wrong = records_query(&args.records, kind, &q);
  if (wrong) return command_misused(argv[0], wrong);
  if (!records_find(&args.config, &q, &found, &status)) return status;
  buf_init(&out, MOST_OUTPUT);
  for (size_t i = 0; i < found.count; i++) {
    if (!args.json) put(&found, &found.list[i], &out);
    else buf_str(&out, found.list[i].line);
    if (args.json) buf_char(&out, '\n');
  }
  if (!found.count) fprintf(stderr, "toolgate: no %s is recorded that fits\n", kind);
  command_print_done(&out);
  records_done(&found);
  return EXIT_OK;
}

int records_show(const struct command *c, const char *kind, records_put *put, int argc, char **argv) {
  struct arguments args = {0};
  struct records_query q;
  struct records found;
  struct buf out;
  int status;
  if (!command_parse(c, argc, argv, &args, &status)) return status;
  records_query(&args.records, kind, &q);
  q.id = str_of(args.operands[0]);
  if (!records_find(&args.config, &q, &found, &status)) return status;
  buf_init(&out, MOST_OUTPUT);
  if (found.count && args.json) buf_printf(&out, "%.*s\n", STR_ARG(found.list[0].line));
  else if (found.count) put(&found, &found.list[0], &out);
  else fprintf(stderr, "toolgate: no %s with this id is recorded\n", kind);
  status = found.count ? EXIT_OK : EXIT_NO;
  command_print_done(&out);
  records_done(&found);
  return status;
}

void records_put_member(struct records *r, const struct json *v, const char *name, const char *path, struct buf *out) {
  str text = record_text(r, v, path);
  buf_printf(out, "%-12s %.*s\n", name, STR_ARG(text));
}

void records_put_each(struct records *r, const struct json *all, const char *name, const char *first,
                      const char *second, struct buf *out) {
  if (!json_is(all, JSON_ARRAY)) return;
  JSON_EACH(it, all) {
    str one = record_text(r, it, first), two = record_text(r, it, second);
    buf_printf(out, "%-12s %.*s  %.*s\n", name, STR_ARG(one), STR_ARG(two));
  }
}

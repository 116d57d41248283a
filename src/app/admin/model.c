// SPDX-License-Identifier: Apache-2.0
#include "app/admin/model.h"

#include <unistd.h>

#include "call/audit_recorder.h"
#include "io/file.h"
#include "io/stream/tail.h"
#include "observe/metrics.h"
#include "text/secrets.h"
#include "upstream/kind.h"
#include "upstream/lane/upstream_status.h"
#include "json/write.h"

// ---- numbers

bool model_next_server(const struct gateway *g, unsigned *at, struct upstream_status *out) {
  ASSERT(*at <= upstreams_count(g->upstreams));  // the count includes removed servers, so it never falls
  while (*at < upstreams_count(g->upstreams)) {
    unsigned index = (*at)++;
    if (upstreams_gone(g->upstreams, index)) continue;
    *out = upstreams_status(g->upstreams, index);
    return true;
  }
  return false;
}

struct model_totals model_totals(const struct gateway *g) {
  struct model_totals t = {.sessions = g->server.shares.total};
  struct upstream_status u;
  for (unsigned at = 0; model_next_server(g, &at, &u); t.servers++) {
    t.usable += u.state == LANE_READY || u.state == LANE_IDLE;
    t.in_flight += u.in_flight;
    t.queued += u.waiting;
  }
  return t;
}

bool model_is_ready(const struct model *m, const struct model_totals *t, const char **out_unaudited) {
  struct audit_recorder *l = m->gateway->audit_recorder;
  if (!l || audit_recorder_ready(l, out_unaudited)) *out_unaudited = NULL;
  return !*out_unaudited && !*m->draining && (t->usable || !t->servers);
}

// ---- servers

static void put_pids(struct json_writer *w, const struct upstream_detail *d) {
  json_put_key(w, STR("pids"));
  json_begin_array(w);
  for (size_t i = 0; i < d->pid_count; i++) json_put_int(w, d->pids[i]);
  json_end_array(w);
}

static void put_counts(struct json_writer *w, const struct gateway *g, const struct upstream_status *u) {
  struct metrics_tally t = metrics_of(g->metrics, u->name);
  json_member_u64(w, STR("connections"), u->open);
  json_member_u64(w, STR("in_flight"), u->in_flight);
  json_member_u64(w, STR("queued"), u->waiting);
  json_member_u64(w, STR("starts"), u->starts);
  json_member_u64(w, STR("restarts"), u->restarts);
  json_member_u64(w, STR("failures"), u->losses);
  json_member_u64(w, STR("calls"), t.calls);
  json_member_u64(w, STR("errors"), t.errors);
  json_member_u64(w, STR("p50_us"), t.p50_us);
  json_member_u64(w, STR("p95_us"), t.p95_us);
}

// Writes `words` with the secrets of the server's configuration masked: the words may be output of the server.
void model_put_words(struct json_writer *w, str key, const char *words, const struct upstream_spec *spec) {
  struct arena a;
  if (!words || !*words) return;
  arena_init(&a);
  json_member_str(w, key, secrets_mask(&a, str_of(words), &spec->secrets));
  arena_done(&a);
}

// Writes the members that contain process ids or text that the server printed.
static void put_inside(struct json_writer *w, const struct upstream_spec *spec, const struct upstream_status *u,
                       const struct upstream_detail *d) {
  model_put_words(w, STR("last_error"), d->last_error, spec);
  if (!u->why || u->why == d->last_error) model_put_words(w, STR("said"), d->said, spec);
  if (d->ready_ms >= 0) json_member_u64(w, STR("ready_ms"), (uint64_t)d->ready_ms);
  put_pids(w, d);
}

static void put_server(struct json_writer *w, const struct gateway *g, unsigned index, bool whole) {
  const struct upstream_spec *spec = upstreams_spec(g->upstreams, index);
  struct upstream_status u = upstreams_status(g->upstreams, index);
  struct upstream_detail d = upstreams_detail(g->upstreams, index);
  ASSERT(index < upstreams_catalog(g->upstreams)->part_count && spec->kind);
  const struct catalog_part *part = &upstreams_catalog(g->upstreams)->parts[index];
  json_begin_object(w);
  json_member_str(w, STR("name"), u.name);
  json_member_str(w, STR("state"), str_of(d.state));
  if (*d.progress) json_member_str(w, STR("progress"), str_of(d.progress));
  json_member_str(w, STR("transport"), str_of(spec->kind->status));
  model_put_words(w, STR("error"), u.why, spec);
  json_member_u64(w, STR("tools"), part->count[ITEM_TOOL]);
  json_member_u64(w, STR("resources"), part->count[ITEM_RESOURCE] + part->count[ITEM_TEMPLATE]);
  json_member_u64(w, STR("prompts"), part->count[ITEM_PROMPT]);
  put_counts(w, g, &u);
  if (whole) put_inside(w, spec, &u, &d);
  json_end_object(w);
}

// ---- clients

static void put_client(struct json_writer *w, const struct session *s) {
  ASSERT(s->revision && (int)s->mode < MODE_COUNT);  // only sessions that completed their handshake are listed
  struct arena a;
  struct fault f;
  str name = STR_NONE, version = STR_NONE;
  arena_init(&a);
  const struct json *client = s->client.n ? json_parse(&a, s->client, &json_default_limits, &f) : NULL;
  json_string(json_get(client, STR("name")), &a, &name);
  json_string(json_get(client, STR("version")), &a, &version);
  json_begin_object(w);
  if (name.n) json_member_str(w, STR("name"), name);
  if (version.n) json_member_str(w, STR("version"), version);
  json_member_str(w, STR("revision"), str_of(s->revision->name));
  json_member_str(w, STR("mode"), str_of(mode_names[s->mode]));
  if (session_agent(s).n) json_member_str(w, STR("agent"), session_agent(s));
  json_member_int(w, STR("since_ms"), s->since);
  json_member_u64(w, STR("in_flight"), s->in_flight);
  json_end_object(w);
  arena_done(&a);
}

static void put_clients(struct json_writer *w, const struct gateway *g) {
  json_put_key(w, STR("clients"));
  json_begin_array(w);
  LIST_EACH(it, &g->server.sessions) {
    const struct session *s = CONTAINER_OF(it, struct session, node);
    if (!s->as_operator && s->surface) put_client(w, s);
  }
  json_end_array(w);
}

// ---- the whole state

static void put_path(struct json_writer *w, str key, str path) {
  struct file_path room;
  json_member_str(w, key, file_real_path(path, &room));
}

static void put_files(struct json_writer *w, const struct gateway *g) {
  const struct config *c = g->config;
  const struct reload_status *r = &g->reload;
  const struct {
    str key, path;
  } files[] = {
      {STR("config"), c->config_file},
      {STR("servers"), r->servers.file.n ? r->servers.file : c->mcp_config},
      {STR("rules"), r->rules.file.n ? r->rules.file : c->rules_file},
      {STR("catalog"), c->catalog},
      {STR("state"), c->state_dir},
  };
  json_put_key(w, STR("files"));
  json_begin_object(w);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (files[i].path.n) put_path(w, files[i].key, files[i].path);
  json_end_object(w);
}

void model_put_stale(const struct gateway *g, struct json_writer *w) {
  const struct reload_status *r = &g->reload;
  if (r->refused && !r->ok) json_member_str(w, STR("stale"), str_of(r->message));
}

// Writes the most recent calls, the newest first, as an array of {"server"?, "outcome", "us"?}.
static void put_calls(const struct gateway *g, struct json_writer *w) {
  struct metrics_last c;
  json_begin_array(w);
  for (size_t i = 0; metrics_last(g->metrics, i, &c); i++) {
    json_begin_object(w);
    if (c.server.n) json_member_str(w, STR("server"), c.server);
    json_member_str(w, STR("outcome"), str_of(c.outcome));
    if (c.us) json_member_u64(w, STR("us"), c.us);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_totals(struct json_writer *w, const struct gateway *g) {
  struct model_totals t = model_totals(g);
  const struct policy *rules = g->rules.policy;
  json_member_u64(w, STR("sessions"), t.sessions);
  json_member_u64(w, STR("in_flight"), t.in_flight);
  json_member_u64(w, STR("queued"), t.queued);
  json_put_key(w, STR("rules"));
  json_begin_object(w);
  json_member_bool(w, STR("enforced"), rules != NULL);
  if (rules) json_member_u64(w, STR("agents"), policy_agent_count(rules));
  json_end_object(w);
}

static void put_pins(const struct pins *p, struct json_writer *w) {
  json_put_key(w, STR("pins"));
  json_begin_object(w);
  json_member_bool(w, STR("enforced"), pins_mode(p) == GOVERNANCE_PINS_ENFORCE);
  for (int i = 0; i < PIN_STATES; i++)
    json_member_u64(w, str_of(pin_state_name((enum pin_state)i)), pins_count(p, (enum pin_state)i));
  json_end_object(w);
}

void model_put_status(const struct model *m, bool whole, struct json_writer *w) {
  struct gateway *g = m->gateway;
  ASSERT((int)g->config->mode < MODE_COUNT);
  json_begin_object(w);
  json_member_str(w, STR("version"), STR(TOOLGATE_VERSION));
  json_member_int(w, STR("pid"), getpid());
  json_member_int(w, STR("since_ms"), m->since);
  if (whole) json_member_int(w, STR("now_ms"), clock_wall_ms(g->loop.clock));
  json_member_str(w, STR("mode"), str_of(mode_names[g->config->mode]));
  json_member_str(w, STR("transport"), m->url.n ? STR("http") : STR("stdio"));
  if (m->url.n) json_member_str(w, STR("url"), m->url);
  put_totals(w, g);
  if (whole) put_files(w, g);
  model_put_stale(g, w);
  if (whole) put_clients(w, g);
  if (g->rules.pins) put_pins(g->rules.pins, w);
  json_put_key(w, STR("last_calls"));
  put_calls(g, w);
  json_put_key(w, STR("servers"));
  json_begin_array(w);
  for (unsigned i = 0; i < upstreams_count(g->upstreams); i++)
    if (!upstreams_gone(g->upstreams, i)) put_server(w, g, i, whole);
  json_end_array(w);
  json_end_object(w);
}

// ---- logs

static void put_lines(const struct tail *t, const struct upstream_spec *spec, uint64_t after, struct json_writer *w) {
  struct arena a;
  arena_init(&a);
  json_put_key(w, STR("lines"));
  json_begin_array(w);
  for (struct tail_line line; tail_next(t, after, &line); after = line.number) {
    json_begin_object(w);
    ASSERT(line.number > after);
    json_member_u64(w, STR("number"), line.number);
    json_member_int(w, STR("at_ms"), line.wall_ms);
    json_member_str(w, STR("text"), secrets_mask(&a, line.text, &spec->secrets));
    json_end_object(w);
    arena_reset(&a);
  }
  json_end_array(w);
  arena_done(&a);
}

bool model_put_logs(const struct gateway *g, const struct json *params, struct json_writer *w, struct fault *f) {
  struct arena a;
  unsigned index;
  int64_t after = 0, lines = TAIL_LINES;
  str server = STR_NONE;
  arena_init(&a);
  bool found =
      json_string(json_get(params, STR("server")), &a, &server) && upstreams_find(g->upstreams, server, &index);
  if (!found)
    fault_set(f, FAULT_NOT_FOUND, "there is no server \"%.*s\"; `toolgate status` lists the servers", STR_ARG(server));
  arena_done(&a);
  if (!found) return false;
  const struct tail *t = upstreams_tail(g->upstreams, index);
  uint64_t last = t ? tail_last(t) : 0;
  bool goes_on = json_int(json_get(params, STR("after")), &after) && after >= 0;
  bool few = json_int(json_get(params, STR("lines")), &lines) && lines >= 0;
  if (!goes_on) after = few && (uint64_t)lines < last ? (int64_t)last - lines : 0;
  json_begin_object(w);
  json_member_u64(w, STR("last"), last);
  json_member_bool(w, STR("process"), t != NULL);
  if (t) put_lines(t, upstreams_spec(g->upstreams, index), (uint64_t)after, w);
  json_end_object(w);
  return true;
}

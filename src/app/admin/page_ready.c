// SPDX-License-Identifier: Apache-2.0
// GET /healthz: always returns 200. GET /readyz: reports whether clients can be served.
#include "app/admin/admin.h"
#include "json/write.h"

static const char *const state_names[] = {
    [LANE_IDLE] = "idle", [LANE_STARTING] = "starting", [LANE_READY] = "ready", [LANE_DOWN] = "down"};

void admin_page_health(struct admin_request *r) {
  admin_send(r, 200, STR("text/plain; charset=utf-8"), STR("ok\n"));
}

static void put_servers(const struct gateway *g, struct json_writer *w) {
  struct upstream_status u;
  json_put_key(w, STR("servers"));
  json_begin_object(w);
  for (unsigned at = 0; model_next_server(g, &at, &u);) {
    ASSERT((size_t)u.state < sizeof state_names / sizeof *state_names);
    json_put_key(w, u.name);
    json_begin_object(w);
    json_member_str(w, STR("state"), str_of(state_names[u.state]));
    model_put_words(w, STR("error"), u.why, upstreams_spec(g->upstreams, at - 1));
    json_end_object(w);
  }
  json_end_object(w);
}

// Names and numbers of servers, and names of files, are only for clients with the role ADMIN_READER.
void admin_page_ready(struct admin_request *r) {
  const struct model *m = r->admin->model;
  struct model_totals t = model_totals(m->gateway);
  const char *unaudited;
  bool names = r->role >= ADMIN_READER, ready = model_is_ready(m, &t, &unaudited);
  struct json_writer w = json_writer(r->text);
  json_begin_object(&w);
  if (unaudited)
    json_member_str(&w, STR("audit"), str_of(names && *unaudited ? unaudited : "the audit log cannot be written"));
  json_member_str(&w, STR("status"), *m->draining ? STR("stopping") : ready ? STR("ready") : STR("not ready"));
  if (names) {
    json_member_u64(&w, STR("servers_usable"), t.usable);
    json_member_u64(&w, STR("servers_configured"), t.servers);
    put_servers(m->gateway, &w);
  }
  json_end_object(&w);
  buf_char(r->text, '\n');
  admin_reply(r, ready ? 200 : 503, STR("application/json"));
}

// SPDX-License-Identifier: Apache-2.0
// The tool get_gateway_status of servers mode: shows the status of the gateway, and of the rules and servers that
// concern the calling agent.
#include "base/assert.h"
#include "observe/reload_status.h"
#include "surface/servers/servers.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"

// ---- the servers

static const char *state_of(const struct servers_ask *a, unsigned source) {
  static const char *const names[] = {"idle", "starting", "ready", "down"};
  const struct lane *lane = upstreams_lane_seen_for(a->d->upstreams, source, &a->who);
  if (lane && lane->state == LANE_READY && lane->refusal.message[0]) return names[LANE_DOWN];
  ASSERT(!lane || (size_t)lane->state < sizeof names / sizeof *names);
  return names[lane ? lane->state : LANE_IDLE];
}

static size_t count_tools(struct servers_ask *a, unsigned source) {
  const struct catalog *c = upstreams_catalog(a->d->upstreams);
  ASSERT(source < c->part_count);
  const struct catalog_part *part = &c->parts[source];
  uint32_t view = upstreams_view_for(a->d->upstreams, source, &a->who);
  size_t n = 0;
  for (size_t i = 0; i < part->count[ITEM_TOOL]; i++) {
    const struct item *item = &c->items[ITEM_TOOL][part->first[ITEM_TOOL] + i];
    n += item->seen & view && surface_sees(a->d, &a->caller, c, item);
  }
  return n;
}

// ---- the rules

static void put_policy(const struct caller *c, struct json_writer *w) {
  json_put_key(w, STR("policy_state"));
  if (!c->policy) {
    json_put_null(w);
    return;
  }
  json_begin_object(w);
  json_member_str(w, STR("agent_id"), c->id);
  json_member_str(w, STR("rules_of"), policy_agent_name(c->agent));
  json_put_key(w, STR("defaults"));
  json_begin_object(w);
  json_member_bool(w, STR("deny_on_missing_agent"), policy_denies_missing(c->policy));
  json_member_str(w, STR("precedence"),
                  policy_order(c->policy) == POLICY_DOCUMENT ? STR("document") : STR("deny-first"));
  json_end_object(w);
  json_end_object(w);
}

// ---- reloads of files

static void put_time(struct json_writer *w, str key, int64_t ms) {
  char text[CLOCK_TEXT];
  json_put_key(w, key);
  if (ms) json_put_str(w, (str){text, clock_print_second(ms, text)});
  else json_put_null(w);
}

// Writes the results of reloading a file. If rules apply to the caller, the text of an error is only in the log,
// because the error may concern other agents.
static void put_record(const struct caller *c, const struct reload_record *record, struct json_writer *w) {
  put_time(w, STR("last_attempt"), record->last_attempt);
  put_time(w, STR("last_success"), record->last_success);
  json_put_key(w, STR("last_error"));
  if (!record->error[0]) json_put_null(w);
  else json_put_str(w, caller_is_limited(c) ? STR("reload failed; see the log") : str_of(record->error));
  json_member_u64(w, STR("attempt_count"), record->attempts);
  json_member_u64(w, STR("success_count"), record->successes);
}

static void put_reload(const struct caller *c, const struct reload_status *status, struct json_writer *w) {
  json_put_key(w, STR("reload_status"));
  if (!status) {
    json_put_null(w);
    return;
  }
  json_begin_object(w);
  json_put_key(w, STR("mcp_config"));
  json_begin_object(w);
  put_record(c, &status->servers, w);
  json_end_object(w);
  json_put_key(w, STR("gateway_rules"));
  json_begin_object(w);
  put_record(c, &status->rules, w);
  json_end_object(w);
  json_end_object(w);
}

// ---- all of it

void servers_status(struct servers_ask *a) {
  static const str names[] = {STR("agent_id")};
  if (!meta_known_args(a->d, a->r, names, 1)) return;
  struct buf b;
  buf_init(&b, 16 << 20);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("version"), STR(TOOLGATE_VERSION));
  put_reload(&a->caller, a->d->opt.reload, &w);
  put_policy(&a->caller, &w);
  json_put_key(&w, STR("available_servers"));
  json_begin_array(&w);
  for (unsigned i = 0; i < upstreams_count(a->d->upstreams); i++) {
    if (!surface_lists_server(a->d, &a->caller, i)) continue;
    json_begin_object(&w);
    json_member_str(&w, STR("name"), upstreams_name(a->d->upstreams, i));
    json_member_str(&w, STR("state"), str_of(state_of(a, i)));
    json_member_u64(&w, STR("tools"), count_tools(a, i));
    json_end_object(&w);
  }
  json_end_array(&w);
  json_member_str(&w, STR("message"), STR("Gateway is operational."));
  json_end_object(&w);
  meta_reply(a->d, a->r, buf_view(&b), buf_view(&b));
  buf_done(&b);
}

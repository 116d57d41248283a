// SPDX-License-Identifier: Apache-2.0
#include "surface/direct/direct_event.h"
#include "base/assert.h"
#include "call/bridge/session_questions.h"
#include "call/bridge/tasks.h"
#include "mcp/methods.h"
#include "surface/direct/direct_watch.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "upstream/lane/quiet.h"

// ---- log levels

// Returns the lowest log level that a client of the lane has set, or SESSION_LOG_UNSET.
static int lane_level(struct surface *d, const struct lane *lane) {
  if (lane->session) return lane->session->log_level;
  int lowest = SESSION_LOG_UNSET;
  LIST_EACH(it, &d->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    if (s->log_level == SESSION_LOG_UNSET || upstreams_lane_find(d->upstreams, lane_index(lane), s) != lane) continue;
    if (lowest == SESSION_LOG_UNSET || s->log_level < lowest) lowest = s->log_level;
  }
  return lowest;
}

static void send_level(struct surface *d, struct lane *lane) {
  int level = lane_level(d, lane);
  bool wanted = level != SESSION_LOG_UNSET && lane->state == LANE_READY && !lane_stateless(lane) &&
                json_get(link_server_capabilities(lane->link), STR("logging"));
  if (!wanted) return;
  ASSERT(lane->link);
  buf_reset(&d->text);
  buf_printf(&d->text, "{\"level\":\"%s\"}", session_log_name(level));
  lane_send_quietly(lane, STR("logging/setLevel"), STR_NONE, buf_view(&d->text));
}

void direct_set_level(struct surface *d, struct request *r) {
  struct session *s = r->session;
  int level = session_log_level(json_get(r->msg.params, STR("level")));
  if (level == SESSION_LOG_UNSET) {
    request_fail(r, RPC_INVALID_PARAMS,
                 "logging/setLevel needs params.level: debug, info, notice, warning, error, critical, "
                 "alert or emergency",
                 STR_NONE);
    return;
  }
  s->log_level = level;
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    struct lane *lane = upstreams_lane_find(d->upstreams, i, s);
    if (lane) send_level(d, lane);
  }
  request_reply(r, STR("{}"));
}

void direct_lane_ready(struct surface *d, struct lane *lane) {
  ASSERT(lane->link);
  send_level(d, lane);
  calls_lane_ready(&d->calls, lane);
  LIST_EACH(it, &d->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    struct surface_client *client = surface_client(s);
    if (client && upstreams_lane_find(d->upstreams, lane_index(lane), s) == lane) direct_watch_again(client, lane);
  }
}

// ---- notifications

static bool level_passes(const struct session *s, const struct json *params) {
  int level = session_log_level(json_get(params, STR("level")));
  if (s->log_level == SESSION_LOG_UNSET) return !s->revision->stateless;
  return level == SESSION_LOG_UNSET || level >= s->log_level;
}

// Returns whether the rules let the client use the lane's upstream. This is checked for each message, because the rules
// may have changed since the connection was opened.
static bool may_receive(struct surface *d, const struct session *s, const struct lane *lane) {
  struct caller caller;
  struct fault f;
  return surface_caller(d, s, &caller, &f) && caller_may(&caller, lane_name(lane), ITEM_RESOURCE, STR_NONE);
}

static str params_of(const struct rpc_message *m) {
  return m->params ? json_span(m->params) : STR_NONE;
}

static void log_message(struct surface *d, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  struct request *related = NULL;
  struct session *s;
  if (lane_stateless(lane)) {
    related = calls_logged(lane, via);
    s = related ? related->session : NULL;
  } else {
    s = calls_addressee(lane, via, &related);
    // If several clients have used this connection, the right client for the message is unknown. Drops the message, so
    // that no client receives another client's messages.
    if (lane->mixed && !via) s = NULL;
  }
  bool addressed = s && (related || !s->revision->stateless);  // stateless clients get messages only during requests
  bool wanted = addressed && s->mode == MODE_DIRECT && s->state == SESSION_OPEN && level_passes(s, m->params) &&
                may_receive(d, s, lane);
  if (wanted) session_notify(related ? related->session : s, related, m->method, params_of(m));
  else
    log_debug(d->opt.loop->log, "%.*s: dropped a log message, because no client both requested it and may receive it",
              STR_ARG(lane_name(lane)));
}

// Forwards a notification that needs no special handling.
static void other(struct surface *d, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  struct request *related;
  struct session *s = calls_addressee(lane, via, &related);
  if (lane->mixed && !via) s = NULL;
  bool known = s && s->mode == MODE_DIRECT && s->state == SESSION_OPEN && !lane_stateless(lane) &&
               method_may_notify(m->method, false, s->revision) && !s->revision->stateless && may_receive(d, s, lane);
  if (known) session_notify(s, related, m->method, params_of(m));
  else
    log_debug(d->opt.loop->log, "%.*s: dropped the notification %.*s: no client may receive it",
              STR_ARG(lane_name(lane)), STR_ARG(m->method));
}

void direct_notification(struct surface *d, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  if (!method_may_notify(m->method, false, link_revision(lane->link))) {
    log_debug(d->opt.loop->log,
              "%.*s: dropped the notification %.*s, because the protocol revision of the client does not define it",
              STR_ARG(lane_name(lane)), STR_ARG(m->method));
    return;
  }
  // Drops the progress of a request that has ended. Progress of requests in flight does not reach this function.
  if (str_eq(m->method, STR("notifications/progress"))) return;
  if (str_eq(m->method, STR("notifications/cancelled"))) calls_ask_cancelled(&d->calls, lane, m);
  else if (str_eq(m->method, STR("notifications/resources/updated"))) direct_resource_updated(d, lane, m);
  else if (str_eq(m->method, STR("notifications/message"))) log_message(d, lane, via, m);
  else if (str_eq(m->method, STR("notifications/tasks/status"))) tasks_status(&d->calls, lane, m);
  else if (str_eq(m->method, STR("notifications/tasks"))) direct_task_changed(d, lane, m);
  else other(d, lane, via, m);
}

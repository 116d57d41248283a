// SPDX-License-Identifier: Apache-2.0
// Opens a link with server/discover if the server is stateless, otherwise with the handshake. Detects whether the
// server is stateless, unless this is configured.
#include <stdio.h>

#include "base/assert.h"
#include "base/text/plain.h"
#include "io/loop.h"
#include "mcp/client/link_impl.h"
#include "mcp/meta.h"
#include "json/write.h"

enum { PROBE_MS = 5000 };  // time for an answer to server/discover before initialize is tried

void link_open(struct link *l) {
  ASSERT(l->state == LINK_NEW);
  l->state = LINK_OPENING;
  l->installed = !l->opt.install_ms;
  timer_start(l->opt.loop, &l->start_timer, l->installed ? l->opt.start_ms : l->opt.install_ms);
  link_enter(l);
  l->ops->open(l);
  link_leave(l);
}

void link_start_late(struct timer *t) {
  struct link *l = CONTAINER_OF(t, struct link, start_timer);
  struct fault f;
  const char *what = l->opt.era == LINK_ERA_STATELESS ? "answer server/discover" : "complete the handshake";
  const char *key = l->opt.start_key ? l->opt.start_key : "timeouts.start";
  if (l->installed)
    fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "did not %s within %g s (%s)", what, (double)l->opt.start_ms / 1000, key);
  else
    fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "was not installed within %g s (timeouts.install)",
              (double)l->opt.install_ms / 1000);
  // The program was not started, so server/discover cannot be the cause of the failure.
  if (!l->installed) l->doubt = false;
  link_broken(l, &f);
}

// Copies the result of initialize or server/discover, because the message is freed when the callback returns.
static const struct json *keep_result(struct link *l, const struct json *result, struct fault *f) {
  return json_parse(&l->arena, arena_str(&l->arena, json_span(result)), &json_default_limits, f);
}

static void take_description(struct link *l, const struct json *result) {
  const struct json *capabilities = json_get(result, STR("capabilities"));
  l->server_capabilities = json_is(capabilities, JSON_OBJECT) ? capabilities : NULL;
  // A stateless server states its name and version in _meta instead.
  const struct json *info = json_get(result, STR("serverInfo"));
  if (!info) info = json_get(json_get(result, STR("_meta")), META_SERVER);
  json_string(json_get(info, STR("version")), &l->arena, &l->server_version);
  json_string(json_get(info, STR("name")), &l->arena, &l->server_name);
  str text = STR_NONE;
  json_string(json_get(result, STR("instructions")), &l->arena, &text);
  text = plain_copy(&l->arena, text, false);
  l->instructions = plain_shortened(&l->arena, text, l->opt.max_instructions);
  if (l->instructions.p != text.p)
    log_warn(l->opt.loop->log,
             "%.*s: the instructions of this server (%zu bytes) were truncated; see limits.description",
             STR_ARG(l->opt.name), text.n);
}

// ---- the handshake

static bool take_handshake(struct link *l, const struct json *result, struct fault *f) {
  str version;
  const struct json *r = keep_result(l, result, f);
  if (!r) return false;
  if (!json_string(json_get(r, STR("protocolVersion")), &l->arena, &version)) {
    fault_set(f, FAULT_PROTOCOL, "answered initialize without a protocolVersion");
    return false;
  }
  const struct mcp_revision *revision = mcp_revision_find(version);
  if (!revision) {
    fault_set(f, FAULT_PROTOCOL,
              "speaks MCP revision \"%.*s\", which this version of Toolgate does not support (supported: %s)",
              STR_ARG(version), mcp_revision_names);
    return false;
  }
  if (revision->stateless) {
    fault_set(f, FAULT_PROTOCOL, "answered initialize with MCP revision %s, which has no handshake", revision->name);
    return false;
  }
  l->revision = revision;
  take_description(l, r);
  return true;
}

// Returns the message of a JSON-RPC error.
static str error_text(struct link *l, const struct rpc_message *reply) {
  str message = STR("no message");
  json_string(json_get(reply->error, STR("message")), &l->inbox, &message);
  return message;
}

static void settle(struct link *l, str confirmation) {
  timer_stop(&l->probe_timer);
  l->doubt = false;
  l->state = LINK_CONFIRMING;
  l->ops->confirm(l, confirmation);
}

static void on_hello(struct link_call *c, const struct rpc_message *reply, const struct fault *failed) {
  struct link *l = CONTAINER_OF(c, struct link, hello);
  struct fault f;
  if (l->dead) return;
  if (failed) f = *failed;
  else if (reply->kind == RPC_ERROR)
    fault_set(&f, FAULT_UPSTREAM_ERROR, "refused initialize: %.*s", STR_ARG(error_text(l, reply)));
  else if (take_handshake(l, reply->result, &f)) {
    link_call_drop(&l->discover);
    settle(l, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
    return;
  }
  if (!l->discover.link) link_broken(l, &f);  // if server/discover is still in flight, its answer decides instead
}

static void start_handshake(struct link *l) {
  struct buf params;
  buf_init(&params, l->opt.capabilities.n + 4096);
  struct json_writer w = json_writer(&params);
  json_begin_object(&w);
  json_put_key(&w, STR("protocolVersion"));
  json_put_str(&w, str_of(mcp_revision_latest()->name));
  json_put_key(&w, STR("capabilities"));
  json_put_raw(&w, l->opt.capabilities);
  json_put_key(&w, STR("clientInfo"));
  json_put_raw(&w, META_TOOLGATE);
  json_end_object(&w);
  l->hello.done = on_hello;
  link_call_begin(l, &l->hello, 0, 0);
  link_call_send(&l->hello, STR("initialize"), buf_view(&params));
  buf_done(&params);
}

// ---- detection of the era

enum verdict {
  IS_STATELESS,   // supports the stateless revision that the gateway supports
  HAS_HANDSHAKE,  // the server supports a revision with a handshake, or did not name its revisions
  IS_FOREIGN,     // names revisions, none of which the gateway supports
};

static enum verdict judge_versions(const struct json *versions) {
  if (!json_is(versions, JSON_ARRAY) || !versions->count) return HAS_HANDSHAKE;
  enum verdict verdict = IS_FOREIGN;
  JSON_EACH(it, versions) {
    for (size_t i = 0; i < mcp_revision_count; i++) {
      if (!json_equals_str(it, str_of(mcp_revisions[i].name))) continue;
      if (mcp_revisions[i].stateless) return IS_STATELESS;
      verdict = HAS_HANDSHAKE;
    }
  }
  return verdict;
}

// Returns the versions in an answer to server/discover, or NULL if this is not the answer of a stateless server.
static const struct json *named_versions(const struct rpc_message *reply) {
  int64_t code;
  if (reply->kind == RPC_RESULT) return json_get(reply->result, STR("supportedVersions"));
  bool unsupported = json_int(json_get(reply->error, STR("code")), &code) && code == RPC_UNSUPPORTED_VERSION;
  return unsupported ? json_get(json_get(reply->error, STR("data")), STR("supported")) : NULL;
}

static void take_discovery(struct link *l, const struct json *result) {
  struct fault f;
  const struct json *r = keep_result(l, result, &f);
  if (!r) {
    link_broken(l, &f);
    return;
  }
  link_call_drop(&l->hello);
  l->revision = mcp_revision_stateless();
  take_description(l, r);
  settle(l, STR_NONE);
}

// The server is not stateless: starts the handshake, or ends the link if the configuration requires a stateless server.
static void not_stateless(struct link *l, const char *why) {
  struct fault f;
  if (l->opt.era != LINK_ERA_STATELESS) {
    if (!l->hello.link) start_handshake(l);
    return;
  }
  fault_set(&f, FAULT_PROTOCOL, "does not speak MCP %s, which \"protocol\": \"modern\" requires: it %s",
            mcp_revision_stateless()->name, why);
  link_broken(l, &f);
}

static void foreign(struct link *l, const struct json *versions) {
  struct fault f;
  l->doubt = false;
  fault_set(&f, FAULT_PROTOCOL,
            "speaks MCP revisions %.*s, none of which this version of Toolgate supports (supported: %s)",
            STR_ARG(json_span(versions)), mcp_revision_names);
  link_broken(l, &f);
}

static void inconsistent(struct link *l) {
  struct fault f;
  l->doubt = false;
  fault_set(&f, FAULT_PROTOCOL, "refused MCP revision %s, which it claims to support", mcp_revision_stateless()->name);
  link_broken(l, &f);
}

static void on_discover(struct link_call *c, const struct rpc_message *reply, const struct fault *failed) {
  struct link *l = CONTAINER_OF(c, struct link, discover);
  if (l->dead) return;
  timer_stop(&l->probe_timer);
  if (failed && l->undecided) {
    link_broken(l, failed);
    return;
  }
  if (failed) {
    not_stateless(l, failed->message);
    return;
  }
  const struct json *versions = named_versions(reply);
  switch (judge_versions(versions)) {
  case IS_STATELESS:
    if (reply->kind == RPC_RESULT) take_discovery(l, reply->result);
    else inconsistent(l);
    break;
  case IS_FOREIGN: foreign(l, versions); break;
  case HAS_HANDSHAKE: {
    char why[FAULT_TEXT];
    if (reply->kind == RPC_RESULT) snprintf(why, sizeof why, "answered server/discover without naming this revision");
    else snprintf(why, sizeof why, "refused server/discover: %.*s", STR_ARG(error_text(l, reply)));
    not_stateless(l, why);
    break;
  }
  }
}

static void start_discovery(struct link *l) {
  str capabilities = l->opt.stateless_capabilities.p ? l->opt.stateless_capabilities : l->opt.capabilities;
  struct meta_caller us = {.capabilities = capabilities, .client = META_TOOLGATE};
  struct buf params;
  buf_init(&params, capabilities.n + 4096);
  buf_str(&params, STR("{\"_meta\":"));
  size_t at = params.n;
  meta_write(&params, NULL, &us, STR_NONE);
  l->meta = arena_str(&l->arena, str_from(buf_view(&params), at));
  buf_char(&params, '}');
  l->discover.done = on_discover;
  link_call_begin(l, &l->discover, 0, 0);
  if (l->opt.era == LINK_ERA_UNKNOWN) {
    uint64_t half = l->opt.start_ms / 2;  // the other half remains for the handshake
    l->doubt = !l->ops->exchanges;
    timer_start(l->opt.loop, &l->probe_timer, PROBE_MS < half ? PROBE_MS : half);
  }
  link_call_send(&l->discover, STR("server/discover"), buf_view(&params));
  buf_done(&params);
}

// Starts the handshake if server/discover was not answered in time. On a pipe, server/discover stays in flight too, and
// the request that is answered first decides the era.
void link_probe_late(struct timer *t) {
  struct link *l = CONTAINER_OF(t, struct link, probe_timer);
  if (l->ops->exchanges) link_call_drop(&l->discover);
  link_enter(l);
  start_handshake(l);
  link_leave(l);
}

void link_installed(struct link *l) {
  if (l->dead || l->installed || l->state == LINK_CLOSED) return;
  l->installed = true;
  if (l->state < LINK_READY) timer_start(l->opt.loop, &l->start_timer, l->opt.start_ms);
  if (l->ev->installed) l->ev->installed(l->ctx, l);
}

void link_connected(struct link *l) {
  if (l->dead || l->state != LINK_OPENING) return;
  l->state = LINK_HANDSHAKE;
  if (l->opt.era == LINK_ERA_HANDSHAKE) start_handshake(l);
  else start_discovery(l);
}

void link_confirmed(struct link *l) {
  if (l->dead || l->state != LINK_CONFIRMING) return;
  timer_stop(&l->start_timer);
  l->state = LINK_READY;
  l->ev->ready(l->ctx, l);
}

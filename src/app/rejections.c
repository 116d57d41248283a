// SPDX-License-Identifier: Apache-2.0
#include "app/rejections.h"

#include "call/ledger.h"
#include "observe/metrics.h"

enum { AT_ONCE = 10, APART_MS = 60000 };

// Is there a line for one more?
static bool may_tell(struct rejections *r, enum rejection why) {
  uint64_t now = loop_now(&r->gateway->loop), *full_at = &r->of[why].full_at;
  if (*full_at < now) *full_at = now;
  if (*full_at > now + (AT_ONCE - 1) * APART_MS) return false;
  *full_at += APART_MS;
  return true;
}

void rejections_note(struct rejections *r, const struct http_exchange *x, enum rejection why, str at) {
  struct gateway *g = r->gateway;
  char peer[HTTP_PEER_SIZE];
  metrics_count_rejection(g->metrics, why);
  if (!may_tell(r, why)) {
    r->of[why].omitted++;
    return;
  }
  http_exchange_peer(x, peer);
  struct audit_event e = {
      .operation = STR("authenticate"),
      .decision = AUDIT_DENY,
      .code = STR("CREDENTIAL_REFUSED"),
      .target = at,
      .reason = str_of(rejection_word(why)),
      .peer = str_of(peer),
      .omitted = r->of[why].omitted,
  };
  ledger_add(g->ledger, &e);
  log_line(&g->log, why == REJECTION_MISSING ? LOG_INFO : LOG_WARN,
           "credential refused: %s, from %s; %llu more since the last such line", rejection_word(why), peer,
           (unsigned long long)e.omitted);
  r->of[why].omitted = 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "app/rejections.h"

#include "call/audit_recorder.h"
#include "observe/metrics.h"

enum { AT_ONCE = 10, APART_MS = 60000 };

bool rejections_may_log(struct rejections *r, enum rejection why, uint64_t now_ms, uint64_t *out_omitted) {
  ASSERT((size_t)why < REJECTION_COUNT && out_omitted);
  uint64_t *full_at = &r->of[why].full_at, *omitted = &r->of[why].omitted;
  if (*full_at < now_ms) *full_at = now_ms;
  if (*full_at > now_ms + (AT_ONCE - 1) * APART_MS) {
    ++*omitted;
    return false;
  }
  *full_at += APART_MS;
  *out_omitted = *omitted;
  *omitted = 0;
  return true;
}

void rejections_note(struct rejections *r, const struct http_exchange *x, enum rejection why, str at) {
  struct gateway *g = r->gateway;
  char peer[HTTP_PEER_SIZE];
  uint64_t omitted;
  metrics_count_rejection(g->metrics, why);
  if (!rejections_may_log(r, why, loop_now(&g->loop), &omitted)) return;
  http_exchange_peer(x, peer);
  struct audit_event e = {
      .operation = STR("authenticate"),
      .decision = AUDIT_DENY,
      .code = STR("CREDENTIAL_REFUSED"),
      .target = at,
      .reason = str_of(rejection_word(why)),
      .peer = str_of(peer),
      .omitted = omitted,
  };
  audit_recorder_add(g->audit_recorder, &e);
  log_line(&g->log, why == REJECTION_MISSING ? LOG_INFO : LOG_WARN,
           "credential refused: %s, from %s; %llu similar refusals since the last such line were not logged",
           rejection_word(why), peer, (unsigned long long)omitted);
}

// SPDX-License-Identifier: Apache-2.0
#include "upstream/lane/quiet.h"
#include "base/mem.h"

struct quiet {
  struct link_call call;
};

static void on_done(struct link_call *c, const struct rpc_message *reply, const struct fault *f) {
  mem_free(CONTAINER_OF(c, struct quiet, call));
}

void lane_send_quietly(struct lane *lane, str method, str name, str params) {
  enum { QUIET_MS = 30000 };
  if (lane->state != LANE_READY) return;
  struct quiet *q = MEM_NEW(struct quiet);
  q->call.done = on_done;
  link_call_begin(lane->link, &q->call, QUIET_MS, QUIET_MS);
  q->call.name = name;
  link_call_send(&q->call, method, params);
}

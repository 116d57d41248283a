// SPDX-License-Identifier: Apache-2.0
// The command's end of a running gateway's control socket (app/control.h). Blocks: a command does one thing at a time.
#pragma once
#include "app/config/config.h"
#include "mcp/server/session.h"
#include "surface/surface.h"

struct remote;

// Connects to the newest gateway that serves this configuration and answers. NULL: FAULT_NOT_FOUND when there is none
// (the message names gateways of other configurations), FAULT_INVALID when it is of another version. `terms`: how its
// sessions differ from a client's; `agent`: as whom it asks, empty: as the operator. With a broken configuration it
// connects to the gateway that was started with the same configuration file or servers.
struct remote *remote_open(const struct config *c, char *const *env, const struct session_operator *terms, str agent,
                           struct fault *f);
void remote_close(struct remote **r);

// Says on stderr that this gateway is asked although the configuration is broken.
void remote_say_broken(const struct remote *r);

int remote_pid(const struct remote *r);
unsigned remote_others(const struct remote *r);  // further gateways of this configuration
str remote_stale(const struct remote *r);        // why it serves an older configuration; empty: it does not

// Sends a request and waits for the answer, which is put into the arena. NULL: f says why.
const struct json *remote_request(struct remote *r, struct arena *a, str method, str params, struct fault *f);
// The same for an MCP request of a client that sees this mode. params: raw, or STR_NONE.
const struct json *remote_ask(struct remote *r, struct arena *a, enum surface_mode mode, str method, str params,
                              struct fault *f);
// A request fails when its answer takes longer. 0: it may take any time, which is the default.
void remote_patience(struct remote *r, uint64_t ms);
// `waiting` is called about once a second with the gateway's status while a request waits.
void remote_on_wait(struct remote *r, void (*waiting)(void *ctx, const struct json *status), void *ctx);

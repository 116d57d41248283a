// SPDX-License-Identifier: Apache-2.0
// Client of a running gateway's control socket (app/control.h). Requests block until the answer arrives.
#pragma once
#include "app/config/config.h"
#include "mcp/server/session.h"
#include "surface/surface.h"

struct control_client;

// Connects to the newest gateway that serves this configuration and answers. With a broken configuration, connects to
// the gateway that was started with the same configuration file or servers. `terms`: settings of the command's
// sessions; `agent`: the caller, empty for the operator. Returns NULL with FAULT_NOT_FOUND if no such gateway runs (the
// message lists gateways of other configurations), or with FAULT_INVALID if the gateway has another version.
struct control_client *control_client_open(const struct config *c, char *const *env,
                                           const struct session_operator *terms, str agent, struct fault *f);
void control_client_close(struct control_client **r);

// Prints on stderr that this gateway answers although the configuration is broken.
void control_client_warn_broken(const struct control_client *r);

int control_client_pid(const struct control_client *r);
unsigned control_client_others(const struct control_client *r);  // number of other gateways with these files
str control_client_stale(const struct control_client *r);  // why the gateway serves an older configuration, or empty

// Sends a request and returns its result, in the arena. NULL: f has the reason.
const struct json *control_client_request(struct control_client *r, struct arena *a, str method, str params,
                                          struct fault *f);
// Sends an MCP request as a client in this mode. `params` is JSON text, or STR_NONE.
const struct json *control_client_mcp_request(struct control_client *r, struct arena *a, enum surface_mode mode,
                                              str method, str params, struct fault *f);
// Sets the time after which a request fails; 0 (the default): never.
void control_client_set_timeout(struct control_client *r, uint64_t ms);
// Calls `waiting` about once a second with the gateway's status while a request waits.
void control_client_on_wait(struct control_client *r, void (*waiting)(void *ctx, const struct json *status), void *ctx);

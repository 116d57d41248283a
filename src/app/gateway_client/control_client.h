// SPDX-License-Identifier: Apache-2.0
// Client of a running gateway's control socket (app/control.h). Requests block until the answer arrives.
#pragma once
#include "app/config/config.h"
#include "mcp/server/session.h"
#include "surface/surface.h"

struct control_client;

// Connects to the newest gateway that serves this configuration and answers. If the configuration is broken, connects
// to a gateway that was started with the same configuration file or file of servers. `terms` are settings of the
// command's sessions. `agent` is the caller; it is empty for the operator. If no such gateway runs, returns NULL with
// FAULT_NOT_FOUND and a message that lists gateways with other configurations. If the gateway has another version than
// this command, returns NULL with FAULT_INVALID.
struct control_client *control_client_open(const struct config *c, char *const *env,
                                           const struct session_operator *terms, str agent, struct fault *f);
void control_client_close(struct control_client **r);

// Prints on stderr that the configuration is broken, but a running gateway answers.
void control_client_warn_broken(const struct control_client *r);

int control_client_pid(const struct control_client *r);
// Returns the number of other running gateways with the same configuration.
unsigned control_client_others(const struct control_client *r);
// Returns the reason why an older configuration is in force, or an empty text.
str control_client_stale(const struct control_client *r);

// Sends a request and returns its result, which is in the arena. On failure returns NULL, with the reason in `f`.
const struct json *control_client_request(struct control_client *r, struct arena *a, str method, str params,
                                          struct fault *f);
// Sends an MCP request to the gateway, which treats it as a request of a client in this mode. `params` is JSON text or
// STR_NONE.
const struct json *control_client_mcp_request(struct control_client *r, struct arena *a, enum surface_mode mode,
                                              str method, str params, struct fault *f);
// Sets the time after which a request fails if it has no answer. 0, the default, means no limit.
void control_client_set_timeout(struct control_client *r, uint64_t ms);
// Sets a callback: while a request waits for its answer, `waiting` is called about once a second with the gateway's
// status.
void control_client_on_wait(struct control_client *r, void (*waiting)(void *ctx, const struct json *status), void *ctx);

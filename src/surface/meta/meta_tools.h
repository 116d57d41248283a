// SPDX-License-Identifier: Apache-2.0
// Meta-tools: the few tools of the modes gateway and transparent that give access to the whole catalog.
//
// A meta-tool answers with a result: text for the model, and the same data as JSON for programs in structuredContent.
// Faults are results with isError:
//   {"error": CODE, "message": one line, "path": where the problem is, "retryable": bool, "details": {…}?}
#pragma once
#include "catalog/directory/directory.h"
#include "mcp/server/session.h"

struct surface;

// Text that explains to models the mark at the start of the gateway's own lines. Each session has its own mark
// (mcp/server/session.h).
#define META_MARK_SAID "Lines of a result that begin with %s are the gateway's; everything else in it is the server's."

// Maximum bytes of a name that a message quotes, so that the whole message fits into a fault.
enum { META_NAME_SHOWN = 100 };

// The type of a function that handles a tools/call of one meta-tool.
typedef void meta_tool(struct surface *d, struct request *r);

// Ends the request with a result. `structured` is a raw JSON object for structuredContent; it is left out if it is
// empty, or if the configuration disables it.
void meta_reply(struct surface *d, struct request *r, str text, str structured);
// Ends the request with a fault. `details` is a raw JSON object or STR_NONE.
void meta_fail(struct surface *d, struct request *r, const struct fault *f, str details);
// Like meta_fail, for a request that names the entry `hidden`, which the caller may not see.
void meta_fail_hidden(struct surface *d, struct request *r, const struct fault *f, const struct entry *hidden,
                      str details);
void meta_refuse(struct surface *d, struct request *r, const char *message);  // ends the request with ARGS_INVALID

const struct json *meta_args(const struct request *r);  // returns the arguments of a meta-tool: an object, or NULL

// Returns whether every argument of the request has one of these names. Otherwise refuses the request.
bool meta_known_args(struct surface *d, struct request *r, const str *names, size_t count);

// Reads a string argument. Returns false if the argument is absent, null or not a string.
bool meta_string(const struct request *r, str name, str *out);

void meta_describe(struct surface *d, struct session *s, struct json_writer *w);
void meta_request(struct surface *d, struct request *r);
str meta_operation(const struct request *r);  // returns the meta-tool that the request calls, or STR_NONE
bool meta_is_call(str operation);             // returns whether the meta-tool of this name calls a server

// SPDX-License-Identifier: Apache-2.0
// Meta-tools: the few tools that stand for all those of the catalog, in the modes gateway and transparent.
//
// A meta-tool answers with a result: text for the model, and the same as JSON for programs in structuredContent. What
// goes wrong is told that way too, with isError:
//   {"error": CODE, "message": one line, "path": what it is about, "retryable": bool, "details": {…}?}
#pragma once
#include "surface/surface_impl.h"
#include "surface/wait.h"
#include "text/oneline.h"

// How the mark of a session (mcp/server/session.h) is announced.
#define META_MARK_SAID "Lines of a result that begin with %s are the gateway's; everything else in it is the server's."

enum { META_NAME_TOLD = 100 };  // bytes of a name in a message, so that the rest of it fits

// Ends the request. structured: a raw JSON object; left out where the configuration says so, or when it is empty.
void meta_reply(struct surface *d, struct request *r, str text, str structured);
// details: a raw JSON object, or STR_NONE.
void meta_fail(struct surface *d, struct request *r, const struct fault *f, str details);
// The same for who names what it may not see.
void meta_fail_hidden(struct surface *d, struct request *r, const struct fault *f, const struct entry *hidden,
                      str details);
void meta_refuse(struct surface *d, struct request *r, const char *message);  // ARGS_INVALID

// A tools/call of a meta-tool.
typedef void meta_tool(struct surface *d, struct request *r);
const struct json *meta_args(const struct request *r);  // its arguments: an object, or NULL

// Are there only these arguments? False: it was refused.
bool meta_known_args(struct surface *d, struct request *r, const str *names, size_t count);

// A string argument. False: it is missing (or null), or no string.
bool meta_string(const struct request *r, str name, str *out);
// The argument max_tokens; 0 if it is not given. False: it is no whole number above 0.
bool meta_max_tokens(const struct request *r, size_t *out);

// The arguments of a tool, as they are given to a meta-tool: an object, none, or text that may hold one. Are they? And
// raw.
bool meta_takes_args(const struct surface *d, const struct json *args);
str meta_args_text(const struct json *args);

// Makes a meta-tool's request the one that it stands for, with what its client said besides. args: raw, or STR_NONE.
void meta_rewrite(struct request *r, const struct call_method *method, str target, str args);

// The entry that an id names: a complete id, or one without version and hash that names exactly one entry this caller
// may see. The entry may be one that the caller may not see (check with meta_sees). NULL: no entry, or several.
const struct entry *meta_find(struct surface *d, const struct session *s, enum directory_kind kind, str id);
// The entries this caller may see that an id without version and hash names; as directory_find_short.
size_t meta_find_short(struct surface *d, const struct session *s, enum directory_kind kind, str id,
                       const struct entry **out);

// The same for a request, which is noted in the audit log. NULL: the request was refused.
const struct entry *meta_lookup(struct surface *d, struct request *r, enum directory_kind kind, str id);

// Answers with the full definition of what an id names.
void meta_define(struct surface *d, struct request *r, enum directory_kind kind, str id);

// Appends the beginning of the instructions of each server that this client may use.
void meta_put_instructions(struct surface *d, const struct session *s, struct buf *out);
// Appends those of one server, as far as the whole text has at most most_tokens then, and the same as JSON.
void meta_put_server_instructions(struct surface *d, struct request *r, str server, size_t most_tokens, struct buf *out,
                                  struct json_writer *w);

// Tells that an id stands for nothing that this caller may use, and what may be the reason. Ends the request. hidden:
// what it does stand for, for others; else NULL.
void meta_missing(struct surface *d, struct request *r, enum directory_kind kind, str id, const struct entry *hidden);

// Is it a server that this client may use, and that has not told yet what it has? Then *out_lane is its lane, or NULL.
bool meta_is_unavailable(struct surface *d, const struct session *s, unsigned source, const struct lane **out_lane);

// Why, for the client; empty for a server that starts and installs nothing.
str meta_unavailable_reason(const struct lane *lane, const struct upstream_spec *spec, struct arena *a);

// Which servers are away, if any: those that are starting, or those that failed. Adds a line to the text, which names
// as many as fit into most_tokens of the whole text, and a member `starting` or `unavailable` to the JSON.
void meta_put_unavailable(struct surface *d, struct request *r, bool starting, size_t most_tokens, struct buf *text,
                          struct json_writer *w);
// Does the namespace stand for a server that this client may use, that is starting and has not told yet what it has?
bool meta_is_starting(struct surface *d, const struct session *s, str namespace, unsigned *out_source);
// Details of a fault because of such a server, in seconds.
#define META_STARTING_DETAILS STR("{\"reason\":\"starting\",\"retry_after\":2}")
enum { META_STARTING_RETRY_S = 2 };

meta_tool meta_tool_browse, meta_resource_browse, meta_prompt_browse;
meta_tool meta_tool_execute, meta_resource_read, meta_prompt_get;
meta_tool meta_tool_hydrate, meta_tool_view;

// transparent: a stripped entry was called by its name, as if by tool_execute. False: there is no such tool.
bool meta_call_by_id(struct surface *d, struct request *r);

// Mode servers: the agent that the request names, STR_NONE when it does not.
str servers_named(const struct request *r);

// Its client used an item by its id, with success.
void meta_used(void *surface, const struct session *s, str id);

// Which entries of a kind index may the client of this session see? NULL: all. In the scratch arena.
const uint64_t *meta_visible(struct surface *d, const struct session *s, enum directory_kind kind);
bool meta_sees(struct surface *d, const struct session *s, const struct entry *e);

// The list of stripped tools that its client sees, in order of their ids: from the at-th up to the end-th.
size_t transparent_count_tools(struct surface *d, const struct session *s, uint64_t *out_version);
void transparent_put_tools(struct surface *d, struct request *r, size_t at, size_t end, struct buf *out);

void meta_describe(struct surface *d, struct session *s, struct json_writer *w);
void meta_request(struct surface *d, struct request *r);
str meta_operation(const struct request *r);  // the meta-tool that it calls; STR_NONE: none
bool meta_is_call(str operation);             // does that meta-tool ask for what goes to a server?

// SPDX-License-Identifier: Apache-2.0
#include "rpc/members.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/fold.h"
#include "json/scan.h"

// ---- the table

enum {  // continues enum members_of
  ARGUMENT = MEMBERS_REST,
  CONTEXT,
  REF,
  TASK,
  META,         // _meta of params
  RESULT_META,  // _meta of results
  PART_META,    // _meta of every object inside a result
  CAPABILITIES,
  ABILITY,
  INFO,
  PART,  // an item of content, or a definition, message, root or task
  HINTS,
  ERROR_DATA,
  FILTER,
  QUESTIONS,  // value of inputRequests, in which the server chooses the keys
  QUESTION,
  ANSWERS,  // value of inputResponses, with the same keys as inputRequests
  COMPLETION,
  OBJECTS,
  // The following two are not kinds of objects, but classes of _meta keys.
  OURS = OBJECTS,  // reserved for the gateway
  MISPLACED,       // key that the protocol reserves for other objects
};

struct members_name {
  str text;
  int holds;  // kind of object that is the member's value, or MEMBERS_FREE
};

// The following tables list the known members of each kind of object. Frequent names come first, because the search
// stops at an exact match. In `envelope`, "params", "result" and "error" have no kind, because rpc_read itself checks
// their values.
static const struct members_name envelope[] = {
    {STR("jsonrpc"), 0}, {STR("id"), 0}, {STR("method"), 0}, {STR("params"), 0}, {STR("result"), 0}, {STR("error"), 0},
};

static const struct members_name params[] = {
    {STR("name"), 0},
    {STR("arguments"), 0},
    {STR("_meta"), META},
    {STR("uri"), 0},
    {STR("cursor"), 0},
    {STR("progressToken"), 0},
    {STR("progress"), 0},
    {STR("total"), 0},
    {STR("message"), 0},
    {STR("ref"), REF},
    {STR("argument"), ARGUMENT},
    {STR("context"), CONTEXT},
    {STR("taskId"), 0},
    {STR("task"), TASK},
    {STR("level"), 0},
    {STR("logger"), 0},
    {STR("data"), 0},
    {STR("requestState"), 0},
    {STR("inputResponses"), ANSWERS},
    {STR("inputRequests"), QUESTIONS},
    {STR("protocolVersion"), 0},
    {STR("capabilities"), CAPABILITIES},
    {STR("clientInfo"), INFO},
    {STR("requestId"), 0},
    {STR("reason"), 0},
    {STR("notifications"), FILTER},
    {STR("status"), 0},
    {STR("statusMessage"), 0},
    {STR("createdAt"), 0},
    {STR("lastUpdatedAt"), 0},
    {STR("ttl"), 0},
    {STR("ttlMs"), 0},
    {STR("pollInterval"), 0},
    {STR("pollIntervalMs"), 0},
    {STR("result"), MEMBERS_RESULT},
    {STR("error"), MEMBERS_ERROR},
    {STR("messages"), PART},
    {STR("systemPrompt"), 0},
    {STR("includeContext"), 0},
    {STR("temperature"), 0},
    {STR("maxTokens"), 0},
    {STR("stopSequences"), 0},
    {STR("metadata"), 0},
    {STR("modelPreferences"), 0},
    {STR("tools"), PART},
    {STR("toolChoice"), 0},
    {STR("requestedSchema"), 0},
    {STR("mode"), 0},
    {STR("url"), 0},
    {STR("elicitationId"), 0},
};

static const struct members_name result[] = {
    {STR("content"), PART},
    {STR("isError"), 0},
    {STR("structuredContent"), 0},
    {STR("resultType"), 0},
    {STR("_meta"), RESULT_META},
    {STR("tools"), PART},
    {STR("nextCursor"), 0},
    {STR("ttlMs"), 0},
    {STR("cacheScope"), 0},
    {STR("resources"), PART},
    {STR("resourceTemplates"), PART},
    {STR("prompts"), PART},
    {STR("contents"), PART},
    {STR("messages"), PART},
    {STR("description"), 0},
    {STR("completion"), COMPLETION},
    {STR("task"), PART},
    {STR("tasks"), PART},
    {STR("result"), MEMBERS_RESULT},
    {STR("error"), MEMBERS_ERROR},
    {STR("inputRequests"), QUESTIONS},
    {STR("requestState"), 0},
    {STR("taskId"), 0},
    {STR("status"), 0},
    {STR("statusMessage"), 0},
    {STR("createdAt"), 0},
    {STR("lastUpdatedAt"), 0},
    {STR("ttl"), 0},
    {STR("pollInterval"), 0},
    {STR("pollIntervalMs"), 0},
    {STR("protocolVersion"), 0},
    {STR("supportedVersions"), 0},
    {STR("capabilities"), CAPABILITIES},
    {STR("serverInfo"), INFO},
    {STR("instructions"), 0},
    {STR("action"), 0},
    {STR("role"), 0},
    {STR("model"), 0},
    {STR("stopReason"), 0},
    {STR("roots"), PART},
};

static const struct members_name part[] = {
    {STR("type"), 0},
    {STR("text"), 0},
    {STR("name"), 0},
    {STR("description"), 0},
    {STR("inputSchema"), 0},
    {STR("annotations"), HINTS},
    {STR("title"), 0},
    {STR("outputSchema"), 0},
    {STR("execution"), HINTS},
    {STR("_meta"), PART_META},
    {STR("uri"), 0},
    {STR("uriTemplate"), 0},
    {STR("mimeType"), 0},
    {STR("size"), 0},
    {STR("data"), 0},
    {STR("blob"), 0},
    {STR("resource"), PART},
    {STR("icons"), 0},
    {STR("arguments"), PART},
    {STR("required"), 0},
    {STR("role"), 0},
    {STR("content"), PART},
    {STR("id"), 0},
    {STR("input"), 0},
    {STR("toolUseId"), 0},
    {STR("structuredContent"), 0},
    {STR("isError"), 0},
    {STR("taskId"), 0},
    {STR("status"), 0},
    {STR("statusMessage"), 0},
    {STR("createdAt"), 0},
    {STR("lastUpdatedAt"), 0},
    {STR("ttl"), 0},
    {STR("ttlMs"), 0},
    {STR("pollInterval"), 0},
    {STR("pollIntervalMs"), 0},
};

#define MCP "io.modelcontextprotocol/"
#define META_NAMES(of_request, of_result) \
  {STR(MCP "protocolVersion"), of_request}, {STR(MCP "clientCapabilities"), of_request ? of_request : CAPABILITIES}, \
      {STR(MCP "clientInfo"), of_request ? of_request : INFO}, {STR(MCP "logLevel"), of_request}, \
      {STR("progressToken"), 0}, {STR(MCP "serverInfo"), of_result ? of_result : INFO}, \
      {STR(MCP "subscriptionId"), of_result}, {STR(MCP "related-task"), TASK}, {STR(MCP "tasks"), 0}, \
      {STR("traceparent"), 0}, {STR("tracestate"), 0}, {STR("baggage"), 0}, {STR("io.toolgate/structured"), OURS}, \
      {STR("io.toolgate/envelope"), OURS}, {STR("io.toolgate/idempotency_key"), OURS}, {STR("toolgate/chain"), OURS}, \
      {STR("toolgate/dryRun"), OURS}, {STR("toolgate/timeoutMs"), OURS}, {STR("toolgate/mode"), OURS}, \
      {STR("toolgate/safetyMode"), OURS}, {STR("toolgate/run"), OURS}, {STR("toolgate/provenance"), OURS}, { \
    STR("toolgate/available"), OURS \
  }

static const struct members_name meta[] = {META_NAMES(0, 0)};
static const struct members_name result_meta[] = {META_NAMES(MISPLACED, 0)};
static const struct members_name part_meta[] = {META_NAMES(MISPLACED, MISPLACED)};

static const struct members_name argument[] = {{STR("name"), 0}, {STR("value"), 0}};
static const struct members_name context[] = {{STR("arguments"), 0}};
static const struct members_name ref[] = {{STR("type"), 0}, {STR("name"), 0}, {STR("uri"), 0}, {STR("title"), 0}};
static const struct members_name task[] = {{STR("taskId"), 0}, {STR("ttl"), 0}, {STR("pollInterval"), 0}};

static const struct members_name capabilities[] = {
    {STR("sampling"), ABILITY},  {STR("elicitation"), ABILITY}, {STR("roots"), ABILITY},
    {STR("tasks"), ABILITY},     {STR("experimental"), META},   {STR("extensions"), META},
    {STR("logging"), ABILITY},   {STR("completions"), ABILITY}, {STR("prompts"), ABILITY},
    {STR("resources"), ABILITY}, {STR("tools"), ABILITY},
};

static const struct members_name ability[] = {
    {STR("listChanged"), 0},    {STR("subscribe"), 0},      {STR("form"), 0},   {STR("url"), 0},
    {STR("context"), 0},        {STR("list"), 0},           {STR("cancel"), 0}, {STR("tools"), ABILITY},
    {STR("requests"), ABILITY}, {STR("sampling"), ABILITY}, {STR("create"), 0}, {STR("elicitation"), ABILITY},
    {STR("call"), 0},           {STR("createMessage"), 0},
};

static const struct members_name info[] = {{STR("name"), 0},       {STR("version"), 0}, {STR("title"), 0},
                                           {STR("websiteUrl"), 0}, {STR("icons"), 0},   {STR("description"), 0}};

static const struct members_name hints[] = {
    {STR("readOnlyHint"), 0},  {STR("destructiveHint"), 0}, {STR("idempotentHint"), 0},
    {STR("openWorldHint"), 0}, {STR("title"), 0},           {STR("audience"), 0},
    {STR("priority"), 0},      {STR("lastModified"), 0},    {STR("taskSupport"), 0},
};

static const struct members_name error[] = {{STR("code"), 0}, {STR("message"), 0}, {STR("data"), ERROR_DATA}};
static const struct members_name error_data[] = {{STR("uri"), 0},
                                                 {STR("elicitations"), MEMBERS_PARAMS},
                                                 {STR("supported"), 0},
                                                 {STR("requested"), 0},
                                                 {STR("requiredCapabilities"), CAPABILITIES}};

static const struct members_name filter[] = {{STR("toolsListChanged"), 0},
                                             {STR("promptsListChanged"), 0},
                                             {STR("resourcesListChanged"), 0},
                                             {STR("resourceSubscriptions"), 0},
                                             {STR("taskIds"), 0}};

static const struct members_name question[] = {{STR("method"), 0}, {STR("params"), MEMBERS_PARAMS}};
static const struct members_name completion[] = {{STR("values"), 0}, {STR("total"), 0}, {STR("hasMore"), 0}};

#define NAMES(array) array, sizeof(array) / sizeof *(array)

static const struct members_object {
  const struct members_name *names;
  size_t count;
  int each;     // kind of the values of all other members
  bool prefix;  // all keys that start with one of the `prefixes` are reserved
} objects[OBJECTS] = {
    [MEMBERS_ENVELOPE] = {NAMES(envelope), 0, false},
    [MEMBERS_PARAMS] = {NAMES(params), 0, false},
    [MEMBERS_RESULT] = {NAMES(result), 0, false},
    [MEMBERS_ERROR] = {NAMES(error), 0, false},
    [ARGUMENT] = {NAMES(argument), 0, false},
    [CONTEXT] = {NAMES(context), 0, false},
    [REF] = {NAMES(ref), 0, false},
    [TASK] = {NAMES(task), 0, false},
    [META] = {NAMES(meta), 0, true},
    [RESULT_META] = {NAMES(result_meta), 0, true},
    [PART_META] = {NAMES(part_meta), 0, true},
    [CAPABILITIES] = {NAMES(capabilities), 0, false},
    [ABILITY] = {NAMES(ability), 0, false},
    [INFO] = {NAMES(info), 0, false},
    [PART] = {NAMES(part), 0, false},
    [HINTS] = {NAMES(hints), 0, false},
    [ERROR_DATA] = {NAMES(error_data), 0, false},
    [FILTER] = {NAMES(filter), 0, false},
    [QUESTIONS] = {NULL, 0, QUESTION, false},
    [QUESTION] = {NAMES(question), 0, false},
    [ANSWERS] = {NULL, 0, MEMBERS_RESULT, false},
    [COMPLETION] = {NAMES(completion), 0, false},
};

// Prefixes of reserved _meta keys: the first OUR_PREFIXES are reserved for the gateway, the last for the protocol.
enum { OUR_PREFIXES = 2, PREFIXES = 3 };
static const str prefixes[PREFIXES] = {STR("io.toolgate/"), STR("toolgate/"), STR(MCP)};

// ---- folding

// If `name` starts with `prefix`, ignoring case, returns the position in `name` after the prefix. Otherwise returns
// NULL.
static const char *fold_past(str name, str prefix) {
  for (size_t i = 0, n; i < prefix.n; i++, name = str_from(name, n))
    if (!name.n || fold_char(name, &n) != ascii_lower(prefix.p[i])) return NULL;
  return name.p;
}

// Returns whether an unknown name is disguised, which means that another decoder may read it as a known name
// (rpc/members.h). The name is cut at a NUL, because decoders with C strings read "name\0x" as "name".
static bool is_disguised(const struct members_object *o, str name) {
  name.n = strnlen(name.p, name.n);
  for (size_t i = 0; i < o->count; i++)
    if (fold_past(name, o->names[i].text) == name.p + name.n) return true;
  for (size_t i = 0; i < PREFIXES && o->prefix; i++)
    if (fold_past(name, prefixes[i]) && !str_starts(name, prefixes[i])) return true;
  return false;
}

static const struct members_name *find(const struct members_object *o, str name) {
  for (size_t i = 0; i < o->count; i++) {
    const struct members_name *n = &o->names[i];
    if (n->text.n == name.n && n->text.p[0] == name.p[0] && str_eq(name, n->text)) return n;
  }
  return NULL;
}

// Returns the kind of object that is the value of the member `name` in an object of kind `what`. Sets found->disguised
// if another decoder may read the unknown name as a known one, and found->reserved if the name is reserved.
static int look_up(int what, str name, struct members_found *found) {
  ASSERT(what >= 0 && what < OBJECTS);
  const struct members_object *o = &objects[what];
  const struct members_name *known = find(o, name);
  int holds = known ? known->holds : o->each;
  if (!known && is_disguised(o, name)) found->disguised = true;
  for (size_t i = 0; i < OUR_PREFIXES && !known && o->prefix; i++)
    if (str_starts(name, prefixes[i])) holds = OURS;
  if (holds < OBJECTS) return holds;
  found->reserved = true;
  return MEMBERS_FREE;
}

bool members_known(str name, enum members_of what) {
  ASSERT((int)what < OBJECTS);
  return find(&objects[what], name);
}

bool members_disguised(str name, enum members_of what) {
  return !members_known(name, what) && is_disguised(&objects[what], name);
}

// ---- values

static str name_of(const struct json *member, struct arena *a) {
  return member->flags & JSON_KEY_ESCAPED ? json_key(member, a) : (str){member->key, member->key_n};
}

// Returns whether the member is the `content` of a user's answer to a form, which is not checked. Such an answer also
// has a member `action`. A message may have a member `content` too, but also has a member `role`.
static bool is_form(int what, const struct json *object, const struct json *member) {
  return what == MEMBERS_RESULT && member->type == JSON_OBJECT && json_key_is(member, STR("content")) &&
         json_get(object, STR("action")) && !json_get(object, STR("role"));
}

// Checks an object or array that has no nodes, because it is folded. Reserved keys in its text cannot be removed, so
// they count as disguised names. Returns the position after the container, where the caller continues, or NULL on
// failure.
static const char *check_text(struct json_scan *scan, const char *at, int what, struct members_found *found,
                              struct arena *a) {
  struct json_walk walk;
  json_walk_open(&walk, scan, at);
  while (!found->disguised && json_walk_next(&walk)) {
    const struct json member = {
        .key = walk.key.p, .key_n = (uint32_t)walk.key.n, .flags = walk.escaped ? JSON_KEY_ESCAPED : 0};
    int holds = walk.close == '}' ? look_up(what, name_of(&member, a), found) : what;
    if (found->reserved) found->disguised = true;
    if (holds) walk.after = check_text(scan, walk.value, holds, found, a);
  }
  return walk.close ? NULL : walk.after;
}

static void check(const struct json *v, int what, struct members_found *found, struct arena *a) {
  if (v->type < JSON_ARRAY) return;
  if (json_is_folded(v)) {
    struct json_scan scan = json_scan(json_span(v));
    check_text(&scan, v->p, what, found, a);
    return;
  }
  for (const struct json *it = v->child; it && !found->disguised; it = it->next) {
    int holds = v->type == JSON_OBJECT ? look_up(what, name_of(it, a), found) : what;
    if (holds && !is_form(what, v, it)) check(it, holds, found, a);
  }
}

struct members_found members_check(const struct json *v, enum members_of what, struct arena *a) {
  struct members_found found = {0};
  check(v, (int)what, &found, a);
  return found;
}

static void put(struct buf *out, const struct json *v, int what, struct arena *a) {
  if (!what || v->type < JSON_ARRAY || json_is_folded(v)) {
    buf_str(out, json_span(v));
    return;
  }
  bool object = v->type == JSON_OBJECT, comma = false;
  buf_char(out, object ? '{' : '[');
  JSON_EACH(it, v) {
    struct members_found found = {0};
    int holds = object ? look_up(what, name_of(it, a), &found) : what;
    if (found.reserved) continue;
    if (comma) buf_char(out, ',');
    comma = true;
    if (object) {
      buf_char(out, '"');
      buf_str(out, (str){it->key, it->key_n});
      buf_str(out, STR("\":"));
    }
    put(out, it, is_form(what, v, it) ? MEMBERS_FREE : holds, a);
  }
  buf_char(out, object ? '}' : ']');
}

void members_put_unreserved(struct buf *out, const struct json *v, enum members_of what, struct arena *a) {
  put(out, v, (int)what, a);
}

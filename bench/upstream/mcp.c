// SPDX-License-Identifier: Apache-2.0
#include "mcp.h"

#include "../jscan.h"

enum { MAX_TOOLS_TEXT = 64 << 20 };

#define REVISION "2026-07-28"
#define SERVER_INFO "{\"name\":\"bench-upstream\",\"version\":\"1.0.0\"}"
#define META_VERSION STR("io.modelcontextprotocol/protocolVersion")
#define META_CAPABILITIES STR("io.modelcontextprotocol/clientCapabilities")

void mcp_init(struct mcp *m, enum mcp_era era, unsigned tool_count) {
  m->era = era;
  buf_init(&m->tools, MAX_TOOLS_TEXT);
  buf_str(&m->tools, STR("[{\"name\":\"echo\",\"description\":\"Gives its message back\",\"inputSchema\":{\"type\":"
                         "\"object\",\"properties\":{\"message\":{\"type\":\"string\",\"description\":\"Text to give "
                         "back\"}},\"required\":[\"message\"]}}"));
  for (unsigned i = 2; i <= tool_count; i++)
    buf_printf(&m->tools,
               ",{\"name\":\"pad_%04u\",\"description\":\"Padding tool number %u, which answers with a constant and "
               "takes two arguments\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":"
               "\"string\",\"description\":\"A path\"},\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}"
               "},\"required\":[\"path\"]},\"annotations\":{\"readOnlyHint\":true}}",
               i, i);
  buf_char(&m->tools, ']');
}

static void open_result(const struct mcp *m, struct buf *out) {
  buf_str(out, STR("\"result\":{"));
  if (m->era == MCP_MODERN) buf_str(out, STR("\"resultType\":\"complete\","));
}

static void close_result(const struct mcp *m, struct buf *out) {
  if (m->era == MCP_MODERN) buf_str(out, STR(",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" SERVER_INFO "}"));
  buf_char(out, '}');
}

static void answer_call(const struct mcp *m, str params, struct buf *out) {
  str name = jscan_get(params, STR("name"));
  str text = STR("\"ok\"");
  if (jscan_is(name, STR("echo"))) text = jscan_get(jscan_get(params, STR("arguments")), STR("message"));
  else if (!str_starts(name, STR("\"pad_")))
    return buf_str(out, STR("\"error\":{\"code\":-32602,\"message\":\"Unknown tool\"}"));
  if (!text.n || text.p[0] != '"') text = STR("\"\"");
  open_result(m, out);
  buf_str(out, STR("\"content\":[{\"type\":\"text\",\"text\":"));
  buf_str(out, text);
  buf_str(out, STR("}]"));
  close_result(m, out);
}

static void answer_list(const struct mcp *m, struct buf *out) {
  open_result(m, out);
  if (m->era == MCP_MODERN) buf_str(out, STR("\"ttlMs\":60000,\"cacheScope\":\"public\","));
  buf_str(out, STR("\"tools\":"));
  buf_str(out, buf_view(&m->tools));
  close_result(m, out);
}

static void answer_initialize(const struct mcp *m, str params, struct buf *out) {
  static const char *const known[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
  str wanted = jscan_get(params, STR("protocolVersion"));
  const char *revision = known[0];
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (jscan_is(wanted, str_of(known[i]))) revision = known[i];
  open_result(m, out);
  buf_printf(out, "\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},", revision);
  buf_str(out, STR("\"serverInfo\":" SERVER_INFO));
  close_result(m, out);
}

static void answer_discover(const struct mcp *m, struct buf *out) {
  open_result(m, out);
  buf_str(out, STR("\"supportedVersions\":[\"" REVISION "\"],\"capabilities\":{\"tools\":{}},"));
  buf_str(out, STR("\"ttlMs\":60000,\"cacheScope\":\"public\""));
  close_result(m, out);
}

// Refuses, by appending the error, what a modern server must: a gateway that leaves out what every server asks for
// must not look fast.
static bool refuse(const struct mcp_headers *headers, str method, str params, struct buf *out) {
  str meta = jscan_get(params, STR("_meta")), version = jscan_get(meta, META_VERSION), name;
  if (!jscan_is(version, STR(REVISION))) {
    buf_str(out, STR("\"error\":{\"code\":-32022,\"message\":\"Unsupported protocol version\",\"data\":{"));
    buf_str(out, STR("\"supported\":[\"" REVISION "\"],\"requested\":"));
    buf_str(out, version.n ? version : STR("\"\""));
    buf_str(out, STR("}}"));
    return true;
  }
  if (!str_starts(jscan_get(meta, META_CAPABILITIES), STR("{"))) {
    buf_str(out, STR("\"error\":{\"code\":-32602,\"message\":\"No client capabilities\"}"));
    return true;
  }
  if (!headers) return false;
  bool same = str_eq(headers->version, STR(REVISION)) && jscan_is(method, headers->method);
  if (same && (name = jscan_get(params, STR("name"))).n) same = jscan_is(name, headers->name);
  if (!same) buf_str(out, STR("\"error\":{\"code\":-32020,\"message\":\"Header mismatch\"}"));
  return !same;
}

static enum mcp_answer answer_modern(const struct mcp *m, const struct mcp_headers *headers, str method, str params,
                                     struct buf *out) {
  if (refuse(headers, method, params, out)) return MCP_REFUSED;
  if (jscan_is(method, STR("tools/call"))) answer_call(m, params, out);
  else if (jscan_is(method, STR("tools/list"))) answer_list(m, out);
  else if (jscan_is(method, STR("server/discover"))) answer_discover(m, out);
  else {
    buf_str(out, STR("\"error\":{\"code\":-32601,\"message\":\"Method not found\"}"));
    return MCP_UNKNOWN;
  }
  return MCP_REPLY;
}

static enum mcp_answer answer_handshake(const struct mcp *m, str method, str params, struct buf *out) {
  bool initialize = jscan_is(method, STR("initialize"));
  if (jscan_is(method, STR("tools/call"))) answer_call(m, params, out);
  else if (initialize) answer_initialize(m, params, out);
  else if (jscan_is(method, STR("ping"))) buf_str(out, STR("\"result\":{}"));
  else if (jscan_is(method, STR("tools/list"))) answer_list(m, out);
  else buf_str(out, STR("\"error\":{\"code\":-32601,\"message\":\"Method not found\"}"));
  return initialize ? MCP_INITIALIZED : MCP_REPLY;
}

enum mcp_answer mcp_handle(const struct mcp *m, const struct mcp_headers *headers, str message, struct buf *out) {
  str id = jscan_get(message, STR("id")), method = jscan_get(message, STR("method"));
  if (!id.n || !method.n) return MCP_NOTHING;
  str params = jscan_get(message, STR("params"));
  buf_str(out, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
  buf_str(out, id);
  buf_char(out, ',');
  enum mcp_answer kind =
      m->era == MCP_MODERN ? answer_modern(m, headers, method, params, out) : answer_handshake(m, method, params, out);
  buf_char(out, '}');
  return kind;
}

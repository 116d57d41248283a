// SPDX-License-Identifier: Apache-2.0
#include "mcp.h"

#include "../jscan.h"

enum { MAX_TOOLS_TEXT = 64 << 20 };

void mcp_init(struct mcp *m, unsigned tool_count) {
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

static void answer_call(str params, struct buf *out) {
  str name = jscan_get(params, STR("name"));
  str text = STR("\"ok\"");
  if (jscan_is(name, STR("echo"))) text = jscan_get(jscan_get(params, STR("arguments")), STR("message"));
  else if (!str_starts(name, STR("\"pad_")))
    return buf_str(out, STR("\"error\":{\"code\":-32602,\"message\":\"Unknown tool\"}"));
  if (!text.n || text.p[0] != '"') text = STR("\"\"");
  buf_str(out, STR("\"result\":{\"content\":[{\"type\":\"text\",\"text\":"));
  buf_str(out, text);
  buf_str(out, STR("}]}"));
}

static void answer_list(const struct mcp *m, struct buf *out) {
  buf_str(out, STR("\"result\":{\"tools\":"));
  buf_str(out, buf_view(&m->tools));
  buf_char(out, '}');
}

static void answer_initialize(str params, struct buf *out) {
  static const char *const known[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
  str wanted = jscan_get(params, STR("protocolVersion"));
  const char *revision = known[0];
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (jscan_is(wanted, str_of(known[i]))) revision = known[i];
  buf_printf(out, "\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},", revision);
  buf_str(out, STR("\"serverInfo\":{\"name\":\"bench-upstream\",\"version\":\"1.0.0\"}}"));
}

enum mcp_answer mcp_handle(const struct mcp *m, str message, struct buf *out) {
  str id = jscan_get(message, STR("id")), method = jscan_get(message, STR("method"));
  if (!id.n || !method.n) return MCP_NOTHING;
  str params = jscan_get(message, STR("params"));
  bool initialize = jscan_is(method, STR("initialize"));
  buf_str(out, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
  buf_str(out, id);
  buf_char(out, ',');
  if (jscan_is(method, STR("tools/call"))) answer_call(params, out);
  else if (initialize) answer_initialize(params, out);
  else if (jscan_is(method, STR("ping"))) buf_str(out, STR("\"result\":{}"));
  else if (jscan_is(method, STR("tools/list"))) answer_list(m, out);
  else buf_str(out, STR("\"error\":{\"code\":-32601,\"message\":\"Method not found\"}"));
  buf_char(out, '}');
  return initialize ? MCP_INITIALIZED : MCP_REPLY;
}

// SPDX-License-Identifier: Apache-2.0
#include "mcp/server/clients.h"

#include "base/ascii.h"
#include "mcp/server/session.h"
#include "json/write.h"

// One row for each name that a client is known to send. The list names each client, the date of the check, and the
// source.
//   - Claude Code (2.1.197 on 2026-11-17): measured; anthropics/claude-code issues 9962, 54450, 55677, 79944
//   - Claude Desktop, claude.ai (2026-02-09, 2026-05-02): blockscout/mcp-server issue 324, anthropics/claude-code
//     issue 55677
//   - Codex CLI (0.169.0 on 2026-11-17): measured; openai/codex codex-rs/protocol/src/models.rs and PR 9338
//   - VS Code (2026-08-20): microsoft/vscode mcpLanguageModelToolContribution.ts and issue 290063
//   - Copilot CLI (2026-08-17): github/copilot-cli issues 3258, 4515
//   - Gemini CLI (0.61.0 on 2026-11-17): measured; google-gemini/gemini-cli packages/core/src/tools/mcp-tool.ts
//   - opencode (1.18.33 on 2026-11-17): measured; anomalyco/opencode PRs 32074, 34505, issue 38923
//   - Zed (2026): zed-industries/zed crates/agent/src/tools/context_server_registry.rs
//   - Kimi Code (2026-08-25): MoonshotAI/kimi-code PR 3234
//   - MCP Inspector (2026-08-03): modelcontextprotocol/inspector issue 1908
//   - OpenAI Agents SDK (2025-07-24): openai/openai-agents-python issue 1236
//   - LangChain adapters (2026): LangChain's reference, MCPToolArtifact
const struct client_row clients_known[] = {
    {"claude-code", "Claude Code", CLIENT_READS_STRUCTURED, false},
    {"claude-ai", "Claude Desktop", CLIENT_READS_TEXT, false},
    {"codex-mcp-client", "Codex CLI", CLIENT_READS_STRUCTURED, false},
    {"visual studio code", "VS Code", CLIENT_READS_STRUCTURED, false},
    {"github-copilot-developer", "Copilot CLI", CLIENT_READS_BOTH, false},
    {"gemini-cli-mcp-client", "Gemini CLI", CLIENT_READS_TEXT, false},
    {"opencode", "opencode", CLIENT_READS_TEXT, false},
    {"cursor", "Cursor", CLIENT_READS_UNKNOWN, false},
    {"windsurf", "Windsurf", CLIENT_READS_UNKNOWN, false},
    {"zed", "Zed", CLIENT_READS_TEXT, false},
    {"goose", "goose", CLIENT_READS_UNKNOWN, false},
    {"kimi", "Kimi Code", CLIENT_READS_TEXT, false},
    {"mcp-inspector", "MCP Inspector", CLIENT_READS_BOTH, true},  // its results are read by people, not by models
    {"inspector-cli", "MCP Inspector, command line", CLIENT_READS_BOTH, true},
};
const size_t clients_known_count = sizeof clients_known / sizeof *clients_known;

static bool is_prefix(str word, str name) {
  if (name.n < word.n) return false;
  for (size_t i = 0; i < word.n; i++)
    if (ascii_lower(name.p[i]) != word.p[i]) return false;
  return name.n == word.n || !ascii_is_alnum(name.p[word.n]);
}

const struct client_row *client_find(str name) {
  const struct client_row *best = NULL;
  for (size_t i = 0; i < clients_known_count; i++) {
    const struct client_row *row = &clients_known[i];
    if (is_prefix(str_of(row->name), name) && (!best || strlen(row->name) > strlen(best->name))) best = row;
  }
  return best;
}

// ---- the part of a result that the model reads

static str text_of(const struct json *content, struct arena *a) {
  str all = STR(""), text;
  if (!json_is(content, JSON_ARRAY)) return all;
  JSON_EACH(it, content) {
    if (!json_string(json_get(it, STR("text")), a, &text)) continue;
    all = all.n ? arena_printf(a, "%.*s\n%.*s", STR_ARG(all), STR_ARG(text)) : text;
  }
  return all;
}

str client_shown(const struct client_row *row, const struct json *result, struct arena *a) {
  const struct json *content = json_get(result, STR("content")), *value = json_get(result, STR("structuredContent"));
  enum client_reads reads = row ? row->reads : CLIENT_READS_UNKNOWN;
  bool structured = value && value->type != JSON_NULL;
  if (structured && reads == CLIENT_READS_STRUCTURED) return json_compacted(a, json_span(value));
  str text = text_of(content, a);
  if (!structured || reads != CLIENT_READS_BOTH) return text;
  return arena_printf(a, "%.*s\n%.*s", STR_ARG(text), STR_ARG(json_compacted(a, json_span(value))));
}

// ---- the client of a request

bool client_experiment_asks(const struct json *experimental) {
  const struct json *v = json_get(experimental, CLIENT_STRUCTURED);
  return json_is(v, JSON_OBJECT) || json_is(v, JSON_TRUE);
}

// The client information of a stateless request is read from the request, because several clients may share the
// session.
const struct client_row *request_client(const struct request *r) {
  str name;
  if (!r->session->callers) return r->session->known;
  bool said = json_string(json_get(r->meta.client, STR("name")), (struct arena *)&r->arena, &name);
  return said ? client_find(name) : NULL;
}

static bool asks(const struct request *r) {
  bool wanted;
  if (json_bool(json_get(json_get(r->msg.params, STR("_meta")), CLIENT_STRUCTURED), &wanted)) return wanted;
  if (!r->session->callers) return r->session->asks_structured;
  return client_experiment_asks(json_get(r->meta.capabilities, STR("experimental")));
}

struct client_form client_form_of(const struct client_row *row, enum client_structured when) {
  bool wants = row && row->structured && when == CLIENT_STRUCTURED_AUTO;
  if (wants || when == CLIENT_STRUCTURED_ALWAYS) return (struct client_form){.structured = true};
  return (struct client_form){.reads = row ? row->reads : CLIENT_READS_UNKNOWN};
}

struct client_form request_form(const struct request *r, enum client_structured when) {
  if (r->session->as_operator || (when == CLIENT_STRUCTURED_AUTO && asks(r)))
    return (struct client_form){.structured = true};
  return client_form_of(request_client(r), when);
}

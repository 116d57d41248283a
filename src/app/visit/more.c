// SPDX-License-Identifier: Apache-2.0
#include "app/visit/more.h"

#include "base/ascii.h"
#include "result/envelope/envelope.h"
#include "json/scan.h"

#define MARK "tool_view handle=\""
#define USUAL "{\"type\":\"head\",\"start\":0,\"chars\":2000}"

// What can stand between single quotes.
static bool is_plain(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] == '\'' || (unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) return false;
  return s.n > 0;
}

static bool is_handle(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (!ascii_is_alnum(s.p[i]) && !strchr(":#@~._-", s.p[i])) return false;
  return s.n > 0;
}

// The note of the envelope: … tool_view handle="H" selector={…}
static bool find_note(str text, str *out_handle, str *out_selector) {
  static const str mark = STR(MARK), by = STR("\" selector=");
  const char *at = text.n ? memmem(text.p, text.n, mark.p, mark.n) : NULL;
  if (!at) return false;
  str rest = str_from(text, (size_t)(at - text.p) + mark.n), tail;
  if (!str_cut(rest, '"', out_handle, &tail)) return false;
  rest = str_from(rest, out_handle->n);
  if (!str_starts(rest, by)) return true;
  rest = str_from(rest, by.n);
  struct json_scan scan = json_scan_strict(rest);
  const char *behind = rest.n && rest.p[0] == '{' ? json_scan_skip(&scan, rest.p) : NULL;
  if (behind) *out_selector = (str){rest.p, (size_t)(behind - rest.p)};
  return true;
}

static str last_text(struct arena *a, const struct json *result) {
  const struct json *content = json_get(result, STR("content"));
  str text = STR_NONE;
  if (!json_is(content, JSON_ARRAY)) return text;
  JSON_EACH(part, content) json_string(json_get(part, STR("text")), a, &text);
  return text;
}

static str option(struct arena *a, const char *name, const char *value) {
  return value && is_plain(str_of(value)) ? arena_printf(a, " %s '%s'", name, value) : STR("");
}

bool more_command(const struct arguments *args, bool lasting, bool running, struct arena *a, const struct json *result,
                  str *out) {
  // Every result has this envelope, and no server can write it; structuredContent may be the server's own.
  const struct json *envelope = json_get(json_get(result, STR("_meta")), STR(ENVELOPE_META));
  const struct json *kept = json_get(envelope, STR("artifacts"));
  str handle = STR_NONE, selector = STR_NONE;
  if (!json_is(kept, JSON_ARRAY) || !kept->count) return false;
  if (!find_note(last_text(a, result), &handle, &selector))
    json_string(json_get(kept->child, STR("handle")), a, &handle);
  if (!is_handle(handle)) return false;
  bool on_disk = lasting && !json_get(json_get(envelope, STR("provenance")), STR("kept_in"));
  if (!on_disk && !running) {
    *out = STR("what was cut is not kept on disk: call it with --full to see all of it");
    return true;
  }
  if (!is_plain(selector)) selector = STR(USUAL);
  str config = option(a, "--config", args->config.config), rules = option(a, "--rules", args->config.rules);
  str agent = option(a, "--agent", args->config.agent), servers = STR("");
  if (!on_disk) servers = option(a, "--mcp-config", args->config.mcp_config);
  *out = arena_printf(a, "toolgate view '%.*s' '%.*s'%.*s%.*s%.*s%.*s", STR_ARG(handle), STR_ARG(selector),
                      STR_ARG(config), STR_ARG(servers), STR_ARG(rules), STR_ARG(agent));
  return true;
}

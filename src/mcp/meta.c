// SPDX-License-Identifier: Apache-2.0
#include "mcp/meta.h"

#include <stdio.h>

#include "mcp/revision.h"
#include "mcp/server/clients.h"
#include "json/write.h"

struct meta meta_read(const struct json *object) {
  struct meta meta = {0};
  if (!json_is(object, JSON_OBJECT)) return meta;
  JSON_EACH(it, object) {
    if (json_key_is(it, META_VERSION)) meta.version = it;
    else if (json_key_is(it, META_CAPABILITIES)) meta.capabilities = it;
    else if (json_key_is(it, META_CLIENT)) meta.client = it;
    else if (json_key_is(it, META_LOG_LEVEL)) meta.log_level = it;
  }
  return meta;
}

void meta_write(struct buf *out, const struct json *old, const struct meta_caller *caller, str token) {
  static const struct meta_caller nobody = {STR_NONE, STR_NONE, STR_NONE};
  const struct meta_caller *c = caller ? caller : &nobody;
  char version[32], level[32];
  int version_n = snprintf(version, sizeof version, "\"%s\"", mcp_revision_stateless()->name);
  int level_n = snprintf(level, sizeof level, "\"%.*s\"", (int)(c->log_level.n < 16 ? c->log_level.n : 16),
                         c->log_level.n ? c->log_level.p : "");
  struct json_edit edits[] = {
      {META_VERSION, caller ? (str){version, (size_t)version_n} : STR_NONE},
      {META_CLIENT, c->client},
      {META_CAPABILITIES, c->capabilities},
      {META_LOG_LEVEL, c->log_level.n ? (str){level, (size_t)level_n} : STR_NONE},
      {CLIENT_STRUCTURED, STR_NONE},
      {STR("progressToken"), token},
  };
  // The last edit sets the progress token. Without a new token, the progress token of `old` stays.
  json_copy_edited(out, json_is(old, JSON_OBJECT) ? old : &json_empty_object, edits, token.p ? 6 : 5);
}

bool meta_only_stateless(const struct json *meta) {
  static const str names[] = {META_VERSION, META_CLIENT, META_CAPABILITIES, META_LOG_LEVEL, CLIENT_STRUCTURED};
  JSON_EACH(it, meta) {
    bool known = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !known; i++) known = json_key_is(it, names[i]);
    if (!known) return false;
  }
  return true;
}

const struct json *meta_claim(const struct json *message) {
  return json_get(json_get(json_get(message, STR("params")), STR("_meta")), META_VERSION);
}

// SPDX-License-Identifier: Apache-2.0
// The file in which `toolgate token` keeps the hashes of tokens. Its tokens count besides those of auth.tokens. Where
// there is such a file, a token is needed, even if it holds none: taking the last one back lets nobody in.
#include <unistd.h>

#include "app/config/config_auth.h"

str config_token_file_path(struct config_loader *l, const struct config_document *d, struct arena *a) {
  if (l->config->token_file.n) return config_path(l, l->config->token_file, d->folder, a);
  return config_user_file(l->env, "tokens.json", a);
}

static void take_tokens(struct config_loader *l, const struct config_place *at, const struct json *list) {
  struct config *c = l->config;
  struct config_token *all = ARENA_ARRAY(&c->arena, struct config_token, c->token_count + list->count + 1);
  if (c->token_count) memcpy(all, c->tokens, c->token_count * sizeof *all);
  c->tokens = all;
  size_t index = 0;
  JSON_EACH(it, list) {
    struct config_place below = config_below_index(l, at, index++);
    if (config_token_read(l, &below, it, &all[c->token_count])) c->token_count++;
  }
}

void config_token_file_read(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  bool named = c->token_file.n > 0;
  str path = config_token_file_path(l, d, &c->arena);
  struct config_document file;
  c->configured_tokens = c->token_count;
  c->token_file = STR_NONE;
  if (!path.n) return;
  config_file_seen(l, path);
  if (!named && access(arena_cstr(&l->work, path), F_OK) != 0) return;
  str by = named ? arena_printf(&l->work, "%.*s:/auth/token_file", STR_ARG(d->file)) : STR_NONE;
  if (!config_document_open(l, path, by, &file)) return;
  struct config_place whole = {file.file, STR_NONE}, at = config_below(l, &whole, STR("tokens"));
  const struct json *list = json_get(file.root, STR("tokens"));
  if (file.world_writable) config_error(l, &whole, "every user of this machine could add a token: chmod o-w");
  if (!json_is(list, JSON_ARRAY) || list->count > CONFIG_MAX_TOKENS)
    config_error(l, &at, "must be a list of at most %d tokens, as `toolgate token new` writes it", CONFIG_MAX_TOKENS);
  else take_tokens(l, &at, list);
  c->token_file = path;
  config_document_done(&file);
}

struct config_place config_token_place(struct config_loader *l, size_t index, const char *key) {
  const struct config *c = l->config;
  bool ours = index < c->configured_tokens;
  size_t at = ours ? index : index - c->configured_tokens;
  return (struct config_place){ours ? c->config_file : c->token_file,
                               arena_printf(&l->work, "%s/%zu%s", ours ? "/auth/tokens" : "/tokens", at, key)};
}

// SPDX-License-Identifier: Apache-2.0
// The file in which `toolgate token` keeps the hashes of tokens. Its tokens count besides those of auth.tokens. Where
// there is such a file, a token is needed, even if it holds none: taking the last one back lets nobody in.
#include <unistd.h>

#include "app/config/config_auth.h"
#include "base/crypto/locked.h"

str config_token_file_path(struct config_loader *l, const struct config_document *d, struct arena *a) {
  if (l->config->token_file.n) return config_path(l, l->config->token_file, d->folder, a);
  return config_user_file(l->env, "tokens.json", a);
}

// Makes room for so many tokens more.
static void grow_tokens(struct config *c, size_t count) {
  struct config_token *all = ARENA_ARRAY(&c->arena, struct config_token, c->token_count + count + 1);
  if (c->token_count) memcpy(all, c->tokens, c->token_count * sizeof *all);
  c->tokens = all;
}

static void take_tokens(struct config_loader *l, const struct config_place *at, const struct json *list) {
  struct config *c = l->config;
  size_t index = 0;
  grow_tokens(c, list->count);
  JSON_EACH(it, list) {
    struct config_place below = config_below_index(l, at, index++);
    if (config_token_read(l, &below, it, &c->tokens[c->token_count])) c->token_count++;
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

static void copy_tokens(struct config *c, const struct config_token *from, size_t count) {
  grow_tokens(c, count);
  for (size_t i = 0; i < count; i++) {
    struct config_token *t = &c->tokens[c->token_count++];
    *t = from[i];
    t->agent = arena_str(&c->arena, from[i].agent);
    t->name = arena_str(&c->arena, from[i].name);
  }
}

void config_tokens_left(struct config *out, const struct config *in_force, const struct config *configured,
                        char *const *env, struct config_problems *problems) {
  struct config_options none = {0};
  struct config_loader l = {.config = out, .opt = &none, .env = env, .problems = problems};
  *out = (struct config){.token_file = in_force->token_file};
  arena_init_secret(&out->arena);
  arena_init_secret(&l.work);
  if (out->token_file.n) config_token_file_read(&l, &(struct config_document){.file = in_force->config_file});
  if (config_problems_fatal(problems)) {
    out->token_count = 0;
    copy_tokens(out, in_force->tokens + in_force->configured_tokens,
                in_force->token_count - in_force->configured_tokens);
  }
  copy_tokens(out, configured->tokens, configured->configured_tokens);
  arena_done(&l.work);
}

struct config_place config_token_place(struct config_loader *l, size_t index, const char *key) {
  const struct config *c = l->config;
  bool ours = index < c->configured_tokens;
  size_t at = ours ? index : index - c->configured_tokens;
  return (struct config_place){ours ? c->config_file : c->token_file,
                               arena_printf(&l->work, "%s/%zu%s", ours ? "/auth/tokens" : "/tokens", at, key)};
}

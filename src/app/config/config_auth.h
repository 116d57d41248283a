// SPDX-License-Identifier: Apache-2.0
// Part of the configuration loader that reads and checks the bearer tokens of clients and the issuer of JSON Web
// Tokens.
#pragma once
#include "app/config/config_load.h"

void config_algorithms_read(struct config_loader *l, const struct config_place *at, const struct json *array);
void config_scopes_read(struct config_loader *l, const struct config_place *at, const struct json *array);
void config_secret_read(struct config_loader *l, const struct config_place *at, const struct json *v,
                        bool world_readable);

// Reads a token given by its hash: {"sha256", "agent"?, "name"?, "created"?}. Returns false after reporting a problem.
bool config_token_read(struct config_loader *l, const struct config_place *at, const struct json *v,
                       struct config_token *out);
// Adds the tokens of auth.token_file or, if this key is not set, of the user's token file if it exists. Called after
// the keys of the configuration are read.
void config_token_file_read(struct config_loader *l, const struct config_document *d);
// Returns the path of the token file, which may not exist. Returns STR_NONE if there is no home folder.
str config_token_file_path(struct config_loader *l, const struct config_document *d, struct arena *a);
// Returns the place of the token at `index`, or of a member of that token if `key` is not empty ("/agent").
struct config_place config_token_place(struct config_loader *l, size_t index, const char *key);

// Reads the issuer's keys, and checks all tokens together. Called after the rules are read.
void config_auth_check(struct config_loader *l, const struct config_document *d);

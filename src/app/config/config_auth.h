// SPDX-License-Identifier: Apache-2.0
// For the loader: who may come, by tokens that others issue. What is wrong is reported, each with its place.
#pragma once
#include "app/config/config_load.h"

void config_algorithms_read(struct config_loader *l, const struct config_place *at, const struct json *array);
void config_scopes_read(struct config_loader *l, const struct config_place *at, const struct json *array);
void config_secret_read(struct config_loader *l, const struct config_place *at, const struct json *v,
                        bool world_readable);

// A token that is known by its hash: {"sha256", "agent"?, "name"?, "created"?}. False: what is wrong was reported.
bool config_token_read(struct config_loader *l, const struct config_place *at, const struct json *v,
                       struct config_token *out);
// Once the keys are read: the tokens of auth.token_file, or of the user's own file if there is one.
void config_token_file_read(struct config_loader *l, const struct config_document *d);
// Which file that is, whether it is there or not; STR_NONE: there is no home folder.
str config_token_file_path(struct config_loader *l, const struct config_document *d, struct arena *a);
// The place of a token, or of a key of it ("/agent").
struct config_place config_token_place(struct config_loader *l, size_t index, const char *key);

// Once the rules are known: reads the keys, and checks what is said of tokens as a whole.
void config_auth_check(struct config_loader *l, const struct config_document *d);

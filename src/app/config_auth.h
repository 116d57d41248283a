// SPDX-License-Identifier: Apache-2.0
// For the loader: who may come, by tokens that others issue. What is wrong is reported, each with its place.
#pragma once
#include "app/config_load.h"

void config_algorithms_read(struct config_loader *l, const struct config_place *at, const struct json *array);
void config_scopes_read(struct config_loader *l, const struct config_place *at, const struct json *array);
void config_secret_read(struct config_loader *l, const struct config_place *at, const struct json *v,
                        bool world_readable);

// Once the rules are known: reads the keys, and checks what is said of tokens as a whole.
void config_auth_check(struct config_loader *l, const struct config_document *d);

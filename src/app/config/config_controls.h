// SPDX-License-Identifier: Apache-2.0
// For config_keys.c: values that only the controls of calls have. Reports each problem with its place.
#pragma once
#include "app/config/config_load.h"
#include "base/text/glob.h"

enum { CONFIG_MOST_LIMITS = 256 };

// Codes of faults: a list, or, as a default, text with commas.
void config_codes_read(struct config_loader *l, const struct config_place *at, const struct json *v);
void config_codes_set(struct config_loader *l, const struct config_place *at, str list);

// Ids of tools, or patterns for them: whose results may be kept.
void config_ids_read(struct config_loader *l, const struct config_place *at, const struct json *v);

// How often a meta-tool may be used. name: of that, outlives the configuration.
void config_limit_read(struct config_loader *l, const struct config_place *at, str name, const struct json *v);
// The same for tools, by their ids.
void config_limits_read(struct config_loader *l, const struct config_place *at, const struct json *v);

// Removes the default limits per minute, unless they are configured, if no credentials are needed: all clients are one
// principal there, and a burst of one client would count against the others.
void config_allowance_settle(struct config_loader *l, const struct config_document *d);

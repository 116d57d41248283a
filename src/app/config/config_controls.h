// SPDX-License-Identifier: Apache-2.0
// Readers for the configuration values of controls (retries, cache, rate limits). Used by config_keys.c.
#pragma once
#include "app/config/config_load.h"
#include "base/text/glob.h"

enum { CONFIG_MOST_LIMITS = 256 };

// Both functions read the fault codes of retry.retryable_codes: config_codes_read from a JSON list, config_codes_set
// from the comma-separated default.
void config_codes_read(struct config_loader *l, const struct config_place *at, const struct json *v);
void config_codes_set(struct config_loader *l, const struct config_place *at, str list);

// Reads cache.allow: ids of the tools whose results may be cached, or patterns for such ids.
void config_ids_read(struct config_loader *l, const struct config_place *at, const struct json *v);

// Reads the rate limit of one meta-tool. `name` is the meta-tool and must outlive the configuration.
void config_limit_read(struct config_loader *l, const struct config_place *at, str name, const struct json *v);
// Reads rate_limits.tools: an object with a rate limit for each tool id or pattern.
void config_limits_read(struct config_loader *l, const struct config_place *at, const struct json *v);

// If clients need no credentials, removes the default limits per minute, but keeps those that the configuration sets.
// Without credentials all clients are one principal, so the calls of one client would use up the default limit of all
// others.
void config_allowance_settle(struct config_loader *l, const struct config_document *d);

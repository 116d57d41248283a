// SPDX-License-Identifier: Apache-2.0
// Secrets in text that comes from servers and is shown to agents: private keys, access keys and tokens that are known
// by their form, passwords in URLs, and values behind names such as api_key. They are masked; of the last two only the
// value, so that one still sees what was said.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"

#define SECRETS_MASK "[REDACTED-SECRET]"

// The text itself when there is no secret in it, else a copy in the arena.
str secrets_mask(struct arena *a, str text);

// The same for the strings within a JSON value, and the values of members that are called like secrets.
str secrets_mask_json(struct arena *a, const struct json *v);

// The same into a buffer, which needs room for as many bytes as secrets_json_max says: an escape is six bytes for one
// at the most, a mask longer than what it stands for by less than its own length.
void secrets_put_json(struct buf *out, const struct json *v);
size_t secrets_json_max(const struct json *v);

// May what is called so be a secret: an option or a header by its name? For what is shown to people; wider than what is
// masked in results, where such a word often means something else.
bool secrets_may_name(str name);

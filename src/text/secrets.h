// SPDX-License-Identifier: Apache-2.0
// Secrets in text that comes from servers and is shown to agents: private keys, access keys and tokens that are known
// by their form, passwords in URLs, values behind names such as api_key, and values that are known to be secret. They
// are masked; of what has a name only the value, so that one still sees what was said.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"

#define SECRETS_MASK "[REDACTED-SECRET]"
#define SECRETS_ADDRESS "[server address]"

// Values that are secret wherever they stand: those that a server was configured with. Each has SECRETS_LEAST bytes or
// more. There may be none; whoever takes a pointer to them takes NULL for that, too.
//
// The last `addresses` values are not secrets but addresses of the server (URL, host and port). SECRETS_ADDRESS
// replaces them. They have ADDRESS_LEAST bytes or more, match in upper and lower case, and only as whole words:
// 10.0.0.5 is not part of 10.0.0.57.
struct secrets_known {
  const str *values;
  size_t count;
  size_t addresses;
};

enum { SECRETS_LEAST = 8, ADDRESS_LEAST = 4 };  // less is found in texts that mean something else

// Does a member, a variable, a header or an option that is called so have a secret for its value?
bool secrets_is_name(str name);
// May it? For what is shown to people; wider than what is masked in results, where such a word often means something
// else.
bool secrets_may_name(str name);

// The text itself when there is no secret in it, else a copy in the arena.
str secrets_mask(struct arena *a, str text, const struct secrets_known *known);
// The same for what is known alone. The beginning of a value counts as well where the text ends: it may have been cut.
str secrets_mask_known(struct arena *a, str text, const struct secrets_known *known);

// The same as the first for a line of a stream, where a private key spans several lines.
struct secrets_stream {
  unsigned key_lines;  // number of further lines that may belong to a private key
};
str secrets_mask_line(struct secrets_stream *s, struct arena *a, str line, const struct secrets_known *known);

// The same as the first for the strings within a JSON value, and the values of members that are called like secrets.
str secrets_mask_json(struct arena *a, const struct json *v, const struct secrets_known *known);

// The same into a buffer, which needs room for as many bytes as secrets_json_max says: an escape is six bytes for one
// at the most, a mask longer than what it stands for by less than its own length. True: something was masked.
bool secrets_put_json(struct buf *out, const struct json *v, const struct secrets_known *known);
size_t secrets_json_max(const struct json *v);

// Is a known value in one of its strings?
bool secrets_in_json(const struct json *v, const struct secrets_known *known);

// Everything it points to is copied into the arena.
struct secrets_known secrets_copy(const struct secrets_known *known, struct arena *a);

// SPDX-License-Identifier: Apache-2.0
// Masks secrets in texts of servers that agents read. Secrets are: private keys, access keys and tokens of known forms,
// passwords in URLs, values after names such as api_key, and values that are known to be secret. If a value has a name,
// only the value is masked, so that the text stays readable.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"

#define SECRETS_MASK "[REDACTED-SECRET]"
#define SECRETS_ADDRESS "[server address]"

// Values from a server's configuration that are secret in every text. Each of them has SECRETS_LEAST bytes or more. In
// the functions below, a `known` of NULL means that there are no such values.
//
// The last `addresses` values are not secrets but addresses of the server (URL, host and port). SECRETS_ADDRESS
// replaces them. Addresses have ADDRESS_LEAST bytes or more. They match regardless of case, but only as whole words:
// 10.0.0.5 is not found in 10.0.0.57.
struct secrets_known {
  const str *values;
  size_t count;
  size_t addresses;
};

enum { SECRETS_LEAST = 8, ADDRESS_LEAST = 4 };  // minimum lengths: shorter values also occur in unrelated texts

// Returns whether a member, variable, header or option of this name has a secret as its value.
bool secrets_is_name(str name);
// Returns whether a member, variable, header or option of this name may have a secret as its value. This wider list of
// names is for output to people. Results of tools are not masked by this list, because such words often mean something
// else in results.
bool secrets_may_name(str name);

// Returns the text itself if it has no secret, otherwise a masked copy in the arena.
str secrets_mask(struct arena *a, str text, const struct secrets_known *known);
// Like secrets_mask, but masks only known values. The text may have been cut inside a known value, so the beginning of
// a known value at the end of the text is masked as well.
str secrets_mask_known(struct arena *a, str text, const struct secrets_known *known);

// The state of secrets_mask_line, which masks one line of a stream as secrets_mask does, including private keys that
// span several lines.
struct secrets_stream {
  unsigned key_lines;  // maximum number of further lines that belong to the current private key; 0 outside a key
};
str secrets_mask_line(struct secrets_stream *s, struct arena *a, str line, const struct secrets_known *known);

// Masks the strings in a JSON value as secrets_mask does, and the values of members whose keys name a secret
// (secrets_is_name).
str secrets_mask_json(struct arena *a, const struct json *v, const struct secrets_known *known);

// Writes the masked value to a buffer, and returns whether something was masked. The buffer needs room for
// secrets_json_max bytes. This is more than the size of the value, because a byte may become an escape of six bytes,
// and a mask may be longer than its secret.
bool secrets_put_json(struct buf *out, const struct json *v, const struct secrets_known *known);
size_t secrets_json_max(const struct json *v);

// Returns whether a string or key in the JSON value contains a known value.
bool secrets_in_json(const struct json *v, const struct secrets_known *known);

// Copies known values to the arena.
struct secrets_known secrets_copy(const struct secrets_known *known, struct arena *a);

// SPDX-License-Identifier: Apache-2.0
// The HTTP/1.1 codec (RFC 9112), strict, for requests and responses: no I/O, no memory of its own.
//
// Refused with a status: bare LF or CR, obs-fold, blanks before a colon, NUL and control characters in values,
// Content-Length together with Transfer-Encoding, repeated or malformed Content-Length, any transfer coding
// but exactly "chunked", Transfer-Encoding in HTTP/1.0, none or several Host headers, a target that is not
// origin-form (or "*" for OPTIONS), more header bytes or lines than the limits allow.
#pragma once
#include "base/str.h"

enum { HTTP_MAX_HEADERS = 64 };

struct http_header {
  str name, value;  // value without surrounding blanks
};

struct http_head {
  // request
  str method, target;  // target as received
  str path, query;     // target split at '?'
  // response
  int status;
  // both
  int minor;  // HTTP/1.minor, 0 or 1
  struct http_header headers[HTTP_MAX_HEADERS];
  size_t header_count;
  // derived
  bool has_length, chunked, keep_alive, expect_continue;
  uint64_t content_length;
  str host;  // request only
};

struct http_limits {
  size_t max_head;  // bytes of start line and headers
  size_t max_body;
};

enum { HTTP_MORE = 0, HTTP_BAD = -1 };

struct http_error {
  int status;        // what to answer a bad request with: 400, 413, 414, 431, 501, 505; 502 for a response
  const char *text;  // what is wrong, one sentence
};

// Parses a whole head at p. Gives its length in bytes (the slices of out point into p), HTTP_MORE when the head is
// not complete, HTTP_BAD with *err filled. *seen: bytes known from the last try to hold no end of head; starts at 0.
long http_parse_request(const char *p, size_t n, const struct http_limits *limits, size_t *seen,
                        struct http_head *out, struct http_error *err);
long http_parse_response(const char *p, size_t n, const struct http_limits *limits, size_t *seen,
                         struct http_head *out, struct http_error *err);

// The header with that name, any case; NULL when there is none. The first, if there are several.
const struct http_header *http_find(const struct http_head *h, str name);
str http_value(const struct http_head *h, str name);  // its value, or STR_NONE
size_t http_count(const struct http_head *h, str name);

// Does a comma-separated list value (Accept, Connection) hold this token or media type? Parameters are ignored.
bool http_list_has(str value, str token);

// Decodes a chunked body piece by piece.
struct http_chunked {
  uint8_t state;
  uint8_t digits;      // of the size line so far
  uint16_t line;       // bytes of extension or trailer so far
  uint64_t left;       // of the current chunk
};

enum http_chunk_result { HTTP_CHUNK_MORE, HTTP_CHUNK_DATA, HTTP_CHUNK_DONE, HTTP_CHUNK_BAD };

// Consumes from the front of *in. DATA: *out is a piece of the body (call again). MORE: *in is used up.
// DONE: the body is over, *in holds what follows. BAD: malformed; extensions and trailers are refused.
enum http_chunk_result http_chunk_next(struct http_chunked *c, str *in, str *out);

const char *http_reason(int status);

// An absolute http or https URL, split. False when it is anything else, has user info, or a bad port.
struct http_url {
  bool tls;
  str host;  // without the brackets of an IPv6 address
  uint16_t port;
  str authority;  // host[:port] as written, for the Host header
  str target;     // path and query, at least "/"
};
bool http_url_parse(str url, struct http_url *out);

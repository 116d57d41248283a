// SPDX-License-Identifier: Apache-2.0
// The HTTP/1.1 codec (RFC 9112), strict, for requests and responses: no I/O, no memory of its own.
//
// Refused with a status: an empty line before the start line, bare LF or CR, obs-fold, blanks before a colon, NUL
// and control characters in values, Content-Length together with Transfer-Encoding, repeated (even if equal) or
// malformed Content-Length, a second Origin, Content-Type, Last-Event-ID, Sec-Fetch-Site, traceparent,
// Mcp-Session-Id, Mcp-Method, Mcp-Name or MCP-Protocol-Version in a request, any transfer coding but exactly
// "chunked", Transfer-Encoding in HTTP/1.0, none or several Host headers (in HTTP/1.0 too), a Host that cannot be a
// host and port, a target that is not origin-form (or "*" for OPTIONS) in visible ASCII without a fragment, an
// expectation other than 100-continue, more header bytes or lines than the limits allow.
//
// The client decides from the method and the status whether a response has a body: a response to HEAD, and a 1xx, 204
// or 304, has no body, whatever has_length, content_length and chunked are. Any other response with neither a length
// nor chunks ends with the connection.
#pragma once
#include "base/str.h"

enum { HTTP_MAX_HEADERS = 64 };

struct http_header {
  str name, value;  // value without surrounding blanks
};

struct http_head {
  // request
  str method, target;  // target as received
  str path, query;     // target split at the first '?'; query.p is NULL without a '?'
  // response
  int status;
  // both
  int minor;  // HTTP/1.minor, 0 or 1
  struct http_header headers[HTTP_MAX_HEADERS];
  size_t header_count;
  // derived
  uint64_t names;  // a bit for each header, by the length and the first letter of its name
  bool has_length, chunked, keep_alive, expect_continue;
  uint64_t content_length;
  str host;  // request only
};

struct http_limits {
  size_t max_head;  // bytes of start line and headers
  size_t max_body;  // of a Content-Length; 0: no limit
};

enum { HTTP_MORE = 0, HTTP_BAD = -1 };

struct http_error {
  int status;        // response status for a bad request: 400, 413, 414, 417, 431, 501, 505; 502 for a response
  const char *text;  // describes the error
};

// Parses a head at p. Returns its length in bytes (the slices of out point into p), HTTP_MORE if the head is
// incomplete, or HTTP_BAD and sets *err. *out is valid only if the length is returned.
// *seen: number of bytes known from the last try to hold no end of head; 0 at first and after a complete head.
// The result does not depend on how the bytes are split, nor on bytes after the head.
long http_parse_request(const char *p, size_t n, const struct http_limits *limits, size_t *seen, struct http_head *out,
                        struct http_error *err);
long http_parse_response(const char *p, size_t n, const struct http_limits *limits, size_t *seen, struct http_head *out,
                         struct http_error *err);

// Returns the first header with that name, in any case, or NULL.
const struct http_header *http_find(const struct http_head *h, str name);
str http_value(const struct http_head *h, str name);  // its value, or STR_NONE
size_t http_count(const struct http_head *h, str name);

// Returns whether a comma-separated list (Accept, Connection) contains this token or media type, ignoring parameters.
bool http_list_has(str value, str token);

// Decodes a chunked body piece by piece. Starts zeroed.
struct http_chunked {
  uint8_t state;
  uint8_t digits;  // of the size line so far
  uint64_t left;   // of the current chunk
};

enum http_chunk_result { HTTP_CHUNK_MORE, HTTP_CHUNK_DATA, HTTP_CHUNK_DONE, HTTP_CHUNK_BAD };

// Consumes from the front of *in. DATA: *out is a piece of the body (call again). MORE: *in is used up.
// DONE: the body is complete, *in holds the bytes after it. BAD: malformed; extensions and trailers are refused.
// DONE and BAD are final: further calls consume nothing. The caller limits the size of the body.
enum http_chunk_result http_chunk_next(struct http_chunked *c, str *in, str *out);

const char *http_reason(int status);  // "Not Found"; "Unknown" for a status that is not in the table

// An absolute http or https URL, split. False when it is anything else; has user info, a fragment, a blank, a byte
// that is not visible ASCII, or a port not in 1..65535; or has a query without a path.
struct http_url {
  bool tls;
  str host;  // without the brackets of an IPv6 address
  uint16_t port;
  str authority;  // host[:port] as written, for the Host header
  str target;     // path and query, at least "/"
};
bool http_url_parse(str url, struct http_url *out);

// Prints a host as it stands before a port: an IPv6 address in brackets, anything else unchanged. Cuts a longer host.
// Returns `out`.
enum { HTTP_HOST_TEXT = 260 };
const char *http_host_print(str host, char out[HTTP_HOST_TEXT]);

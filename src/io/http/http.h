// SPDX-License-Identifier: Apache-2.0
// The HTTP/1.1 codec (RFC 9112), strict, for requests and responses: no I/O, no memory of its own.
//
// Refuses with a status: an empty line before the start line; bare LF or CR; obs-fold; blanks before a colon; NUL and
// control characters in values; Content-Length together with Transfer-Encoding; a repeated (even if equal) or malformed
// Content-Length; in a request, a repeated Origin, Content-Type, Last-Event-ID, Sec-Fetch-Site, traceparent,
// Mcp-Session-Id, Mcp-Method, Mcp-Name or MCP-Protocol-Version; any transfer coding except exactly "chunked";
// Transfer-Encoding in HTTP/1.0; a missing or repeated Host header (in HTTP/1.0, too); a Host that is not a valid host
// and port; a target that is not origin-form (or "*" for OPTIONS) in visible ASCII without a fragment; an expectation
// other than 100-continue; more header bytes or lines than the limits allow.
//
// The HTTP client decides from method and status whether a response has a body. A response to HEAD, and a 1xx, 204 or
// 304, has no body, whatever has_length, content_length and chunked say. Any other response without a length and
// without chunks ends when the connection ends.
#pragma once
#include "base/str.h"

enum { HTTP_MAX_HEADERS = 64 };

struct http_header {
  str name, value;  // value without surrounding blanks
};

struct http_head {
  // request
  str method, target;  // target: as received
  str path, query;     // the target split at the first '?'; query.p is NULL without a '?'
  // response
  int status;
  // both
  int minor;  // HTTP/1.minor, 0 or 1
  struct http_header headers[HTTP_MAX_HEADERS];
  size_t header_count;
  // derived
  uint64_t names;  // one bit per header, chosen by length and first letter of the name; speeds up http_find
  bool has_length, chunked, keep_alive, expect_continue;
  uint64_t content_length;
  str host;  // value of the Host header of a request
};

struct http_limits {
  size_t max_head;  // maximum bytes of the start line and all headers
  size_t max_body;  // maximum Content-Length; 0 if there is no limit
};

enum { HTTP_MORE = 0, HTTP_BAD = -1 };

struct http_error {
  int status;  // HTTP status for a bad request (400, 413, 414, 417, 431, 501 or 505) or a bad response (502)
  const char *text;
};

// Parses a head at p. Returns the length of the head in bytes, HTTP_MORE if the head is incomplete, or HTTP_BAD with
// *err set. *out is valid only if a length is returned; its slices point into p. *seen is the number of bytes that
// earlier calls have already searched for the end of the head; it must be 0 at first and is 0 after a complete head.
// The result depends neither on how the bytes are split nor on bytes after the head.
long http_parse_request(const char *p, size_t n, const struct http_limits *limits, size_t *seen, struct http_head *out,
                        struct http_error *err);
long http_parse_response(const char *p, size_t n, const struct http_limits *limits, size_t *seen, struct http_head *out,
                         struct http_error *err);

// Returns the first header with this name, ignoring case, or NULL.
const struct http_header *http_find(const struct http_head *h, str name);
str http_value(const struct http_head *h, str name);  // value of the first header with this name, or STR_NONE
size_t http_count(const struct http_head *h, str name);

// Returns whether a comma-separated list (as in Accept or Connection) contains this token or media type, ignoring
// parameters.
bool http_list_has(str value, str token);

// State of the decoder of a chunked body. Must be zeroed before the first piece.
struct http_chunked {
  uint8_t state;
  uint8_t digits;  // number of digits read so far of the current chunk size
  uint64_t left;   // bytes left in the current chunk
};

enum http_chunk_result { HTTP_CHUNK_MORE, HTTP_CHUNK_DATA, HTTP_CHUNK_DONE, HTTP_CHUNK_BAD };

// Consumes bytes from the front of *in. DATA: *out is a piece of the body; call again. MORE: *in is used up. DONE: the
// body is complete; *in holds the bytes after it. BAD: the body is malformed, or has extensions or trailers, which are
// not supported. DONE and BAD are final: further calls consume nothing. The caller must limit the size of the body.
enum http_chunk_result http_chunk_next(struct http_chunked *c, str *in, str *out);

// Returns the reason phrase of a status, such as "Not Found", or "Unknown" for an unknown status.
const char *http_reason(int status);

// The parts of an absolute http or https URL. http_url_parse returns false for any other URL, and for one with user
// info, a fragment, a blank, a byte that is not visible ASCII, a port outside 1..65535, or a query without a path.
struct http_url {
  bool tls;
  str host;  // host name or address; an IPv6 address is without brackets
  uint16_t port;
  str authority;  // host[:port] as written, for the Host header
  str target;     // path and query, at least "/"
};
bool http_url_parse(str url, struct http_url *out);

// http_host_print writes a host to `out` in the form that is used before ":PORT": an IPv6 address in brackets, anything
// else unchanged. It truncates a host that does not fit in HTTP_HOST_TEXT bytes, and returns `out`.
enum { HTTP_HOST_TEXT = 260 };
const char *http_host_print(str host, char out[HTTP_HOST_TEXT]);

// SPDX-License-Identifier: Apache-2.0
#include "io/http/http.h"

// Character classes, as bits. Each bit stands for a part of a message head in which a byte is allowed.
enum { TOKEN = 1, TARGET = 2, VALUE = 4, HOST = 8, VISIBLE = TARGET | VALUE, ANY = TOKEN | VISIBLE | HOST };

static const uint8_t classes[256] = {
    ['\t'] = VALUE,
    [' '] = VALUE,
    ['!'] = TOKEN | VISIBLE,
    ['"'] = VISIBLE,
    ['#'] = TOKEN | VALUE,  // not TARGET: a request target has no fragment
    ['$' ... '\''] = TOKEN | VISIBLE,
    ['(' ... ')'] = VISIBLE,
    ['*' ... '+'] = TOKEN | VISIBLE,
    [','] = VISIBLE,
    ['-' ... '.'] = ANY,
    ['/'] = VISIBLE,
    ['0' ... '9'] = ANY,
    [':'] = VISIBLE | HOST,
    [';' ... '@'] = VISIBLE,
    ['A' ... 'Z'] = ANY,
    ['['] = VISIBLE | HOST,
    ['\\'] = VISIBLE,
    [']'] = VISIBLE | HOST,
    ['^'] = TOKEN | VISIBLE,
    ['_'] = ANY,
    ['`'] = TOKEN | VISIBLE,
    ['a' ... 'z'] = ANY,
    ['{'] = VISIBLE,
    ['|'] = TOKEN | VISIBLE,
    ['}'] = VISIBLE,
    ['~'] = ANY,
    [0x80 ... 0xff] = VALUE,
};

static inline bool is(char c, unsigned class) {
  return classes[(unsigned char)c] & class;
}

// State of the parser of a message head. The parser gets only complete lines, so its input ends with LF. LF belongs to
// no character class: a loop over the characters of a class therefore ends there at the latest.
struct header_walk {
  const char *p, *end;
  struct http_head *head;
  struct http_error *err;
  unsigned hosts, lengths, codings;
  unsigned singles;  // headers seen so far that must not be repeated, as bits of single_bit()
  bool request, close, persist;
};

static bool refuse(struct header_walk *w, int status, const char *text) {
  *w->err = (struct http_error){w->request ? status : 502, text};
  return false;
}

// Returns whether two tokens of the same length are equal, ignoring case. Sets bit 5 of each byte: this maps upper case
// letters to lower case. It also maps ^ to ~, but no name that is looked up contains these two characters.
static inline bool same_name(str a, str b) {
  const uint64_t lower = 0x2020202020202020;
  size_t i = 0;
  for (; i + 8 <= b.n; i += 8) {
    uint64_t x, y;
    memcpy(&x, a.p + i, 8);
    memcpy(&y, b.p + i, 8);
    if ((x | lower) != (y | lower)) return false;
  }
  for (; i < b.n; i++)
    if ((a.p[i] | 0x20) != (b.p[i] | 0x20)) return false;
  return true;
}

// Returns the bit of http_head.names that stands for a header name. If this bit is not set, the header is absent and a
// lookup ends at once: most lookups are for absent headers. `name` must not be empty.
static inline uint64_t name_bit(str name) {
  return (uint64_t)1 << ((name.n * 8 + ((unsigned char)name.p[0] | 0x20)) & 63);
}

// Returns the first byte from p on that cannot be part of a value. Checks eight bytes at a time until a group contains
// a control character or tab. The arithmetic marks the first such byte of a group correctly, but may also mark other
// bytes after it.
static inline const char *skip_value(const char *p, const char *end) {
  const uint64_t ones = 0x0101010101010101, tops = 0x80 * ones;
  while (end - p >= 8) {
    uint64_t x, del;
    memcpy(&x, p, 8);
    del = x ^ (0x7f * ones);
    if ((((x - 0x20 * ones) & ~x) | ((del - ones) & ~del)) & tops) break;
    p += 8;
  }
  while (is(*p, VALUE)) p++;
  return p;
}

static bool note_host(struct header_walk *w, str value) {
  if (w->hosts++) return refuse(w, 400, "more than one Host header");
  for (size_t i = 0; i < value.n; i++)
    if (!is(value.p[i], HOST)) return refuse(w, 400, "malformed Host header");
  if (value.n == 0) return refuse(w, 400, "empty Host header");
  w->head->host = value;
  return true;
}

static bool note_length(struct header_walk *w, str value) {
  // The value must consist of digits: lists, signs and blanks are refused. 18 digits cannot overflow.
  if (w->lengths++) return refuse(w, 400, "more than one Content-Length header");
  if (value.n > 18 || !str_to_u64(value, &w->head->content_length))
    return refuse(w, 400, "malformed Content-Length header");
  w->head->has_length = true;
  return true;
}

static bool note_coding(struct header_walk *w, str value) {
  if (w->codings++) return refuse(w, 400, "more than one Transfer-Encoding header");
  if (!str_eq_nocase(value, STR("chunked")))
    return refuse(w, 501, "unsupported Transfer-Encoding: only \"chunked\" is supported");
  w->head->chunked = true;
  return true;
}

static bool note_connection(struct header_walk *w, str value) {
  bool usual = str_eq(value, STR("keep-alive"));
  if (usual || http_list_has(value, STR("keep-alive"))) w->persist = true;
  if (!usual && http_list_has(value, STR("close"))) w->close = true;
  return true;
}

static bool note_expect(struct header_walk *w, str value) {
  if (!w->request) return true;
  if (!str_eq_nocase(value, STR("100-continue")))
    return refuse(w, 417, "unsupported Expect header: only \"100-continue\" is supported");
  w->head->expect_continue = w->head->minor > 0;  // RFC 9110, 10.1.1: HTTP/1.0 requests ignore Expect
  return true;
}

// Returns a bit for each header that a request must not repeat, because two parsers could choose different values.
// Returns 0 for all other headers.
static inline unsigned single_bit(str name) {
  switch (name.n) {
  case 6: return same_name(name, STR("origin")) ? 1 : 0;
  case 8: return same_name(name, STR("mcp-name")) ? 2 : 0;
  case 10: return same_name(name, STR("mcp-method")) ? 4 : 0;
  case 11: return same_name(name, STR("traceparent")) ? 8 : 0;
  case 12: return same_name(name, STR("content-type")) ? 16 : 0;
  case 13: return same_name(name, STR("last-event-id")) ? 32 : 0;
  case 14: return same_name(name, STR("mcp-session-id")) ? 64 : same_name(name, STR("sec-fetch-site")) ? 128 : 0;
  case 20: return same_name(name, STR("mcp-protocol-version")) ? 256 : 0;
  default: return 0;
  }
}

// Error messages for repeated headers. The index of a message is the number of the header's bit in single_bit.
static const char *const single_twice[] = {
    "more than one Origin header",
    "more than one Mcp-Name header",
    "more than one Mcp-Method header",
    "more than one traceparent header",
    "more than one Content-Type header",
    "more than one Last-Event-ID header",
    "more than one Mcp-Session-Id header",
    "more than one Sec-Fetch-Site header",
    "more than one MCP-Protocol-Version header",
};

static bool note_single(struct header_walk *w, str name) {
  unsigned bit = w->request ? single_bit(name) : 0;
  if (w->singles & bit) return refuse(w, 400, single_twice[__builtin_ctz(bit)]);
  w->singles |= bit;
  return true;
}

// Reads the headers that decide where a message ends and whether its connection stays open.
static inline bool note_header(struct header_walk *w, str name, str value) {
  if (!note_single(w, name)) return false;
  switch (name.n) {
  case 4: return !w->request || !same_name(name, STR("host")) || note_host(w, value);
  case 6: return !same_name(name, STR("expect")) || note_expect(w, value);
  case 10: return !same_name(name, STR("connection")) || note_connection(w, value);
  case 14: return !same_name(name, STR("content-length")) || note_length(w, value);
  case 17: return !same_name(name, STR("transfer-encoding")) || note_coding(w, value);
  default: return true;
  }
}

static bool parse_line_end(struct header_walk *w) {
  const char *p = w->p;
  if (p[0] == '\n') return refuse(w, 400, "line feed without a carriage return");
  if (p[0] != '\r') return refuse(w, 400, "unexpected character in a line of the head");
  if (p[1] != '\n') return refuse(w, 400, "carriage return without a line feed");
  w->p = p + 2;
  return true;
}

static bool bad_name(struct header_walk *w, const char *name) {
  if (*name == ' ' || *name == '\t') return refuse(w, 400, "folded header line");
  if (*w->p == ' ' || *w->p == '\t') return refuse(w, 400, "blank between a header name and its colon");
  return refuse(w, 400, "malformed header name");
}

static bool parse_header(struct header_walk *w) {
  const char *name = w->p, *p = name;
  while (is(*p, TOKEN)) p++;
  w->p = p;
  if (p == name || *p != ':') return bad_name(w, name);
  str key = {name, (size_t)(p - name)};

  do p++;
  while (*p == ' ' || *p == '\t');
  const char *value = p;
  w->p = p = skip_value(p, w->end);
  if (!parse_line_end(w)) return false;
  while (p > value && (p[-1] == ' ' || p[-1] == '\t')) p--;
  str text = {value, (size_t)(p - value)};

  struct http_head *h = w->head;
  if (h->header_count == HTTP_MAX_HEADERS) return refuse(w, 431, "too many headers");
  h->headers[h->header_count++] = (struct http_header){key, text};
  h->names |= name_bit(key);
  return note_header(w, key, text);
}

// Performs the checks that need the complete head.
static bool check_head(struct header_walk *w, const struct http_limits *limits) {
  struct http_head *h = w->head;
  if (w->request && w->hosts == 0) return refuse(w, 400, "no Host header");
  if (h->chunked && h->has_length)
    return refuse(w, 400, "a message must not have both Content-Length and Transfer-Encoding");
  if (h->chunked && h->minor == 0) return refuse(w, 400, "Transfer-Encoding in HTTP/1.0");
  if (limits->max_body && h->content_length > limits->max_body) return refuse(w, 413, "the request body is too large");
  h->keep_alive = !w->close && (h->minor > 0 || w->persist);
  return true;
}

// Accepts only HTTP/1.0 and HTTP/1.1, followed by a CR in a request or a blank in a response.
static bool parse_version(struct header_walk *w) {
  const char *p = w->p;
  if (w->end - p < 10 || memcmp(p, "HTTP/", 5) != 0 || p[6] != '.') return refuse(w, 400, "malformed HTTP version");
  if (p[5] < '0' || p[5] > '9' || p[7] < '0' || p[7] > '9') return refuse(w, 400, "malformed HTTP version");
  if (p[8] != (w->request ? '\r' : ' ')) return refuse(w, 400, "malformed HTTP version");
  if (p[5] != '1' || p[7] > '1') return refuse(w, 505, "unsupported HTTP version: only 1.0 and 1.1 are supported");
  w->head->minor = p[7] - '0';
  w->p = p + 8;
  return true;
}

static bool split_target(struct header_walk *w) {
  struct http_head *h = w->head;
  bool asterisk = str_eq(h->target, STR("*")) && str_eq(h->method, STR("OPTIONS"));
  if (h->target.p[0] != '/' && !asterisk)
    return refuse(w, 400, "the request target must be a path that begins with \"/\"");
  if (!str_cut(h->target, '?', &h->path, &h->query)) h->query = STR_NONE;
  return true;
}

static bool parse_request_line(struct header_walk *w) {
  struct http_head *h = w->head;
  const char *p = w->p;
  while (is(*p, TOKEN)) p++;
  h->method = (str){w->p, (size_t)(p - w->p)};
  if (h->method.n == 0 || *p != ' ') return refuse(w, 400, "malformed method");

  const char *target = ++p;
  while (is(*p, TARGET)) p++;
  h->target = (str){target, (size_t)(p - target)};
  if (h->target.n == 0 || *p != ' ') return refuse(w, 400, "malformed target");
  w->p = p + 1;
  return parse_version(w) && parse_line_end(w) && split_target(w);
}

static bool parse_status_line(struct header_walk *w) {
  if (!parse_version(w)) return false;
  const char *p = w->p;
  // str_to_u64 stops at the first byte that is not a digit, so it does not read beyond the LF.
  uint64_t status = 0;
  if (!str_to_u64((str){p + 1, 3}, &status) || status < 100 || status > 599)
    return refuse(w, 502, "malformed status code");
  w->head->status = (int)status;
  w->p = p[4] == ' ' ? skip_value(p + 4, w->end) : p + 4;  // the blank and the reason phrase may be missing
  return parse_line_end(w);
}

static void start_head(struct http_head *h) {
  // Clears every member except the array of headers, which has 2 KB. header_count says how many of its entries are
  // valid.
  h->method = h->target = h->path = h->query = h->host = STR_NONE;
  h->status = h->minor = 0;
  h->header_count = 0;
  h->names = 0;
  h->has_length = h->chunked = h->keep_alive = h->expect_continue = false;
  h->content_length = 0;
}

// Parses the complete lines of a head. Returns HTTP_MORE if the empty line that ends the head is not among them.
static long parse_lines(struct header_walk *w, const struct http_limits *limits) {
  const char *start = w->p;
  start_head(w->head);
  if (!(w->request ? parse_request_line(w) : parse_status_line(w))) return HTTP_BAD;
  while (w->p < w->end && *w->p != '\r')
    if (!parse_header(w)) return HTTP_BAD;
  if (w->p == w->end) return HTTP_MORE;
  if (!parse_line_end(w) || !check_head(w, limits)) return HTTP_BAD;
  return w->p - start;
}

// Parses all complete lines again whenever a further line arrives, so that an error is reported before the head is
// complete. The limit on the number of headers limits the number of repetitions.
static long parse_head(struct header_walk *w, size_t n, const struct http_limits *limits, size_t *seen) {
  const char *start = w->p;
  size_t within = n < limits->max_head ? n : limits->max_head;
  const char *last = memrchr(start, '\n', within);
  if (last && last >= start + *seen) {
    w->end = last + 1;
    long length = parse_lines(w, limits);
    *seen = 0;
    if (length != HTTP_MORE) return length;
  }
  if (n >= limits->max_head) {
    refuse(w, last ? 431 : 414, last ? "head is too large" : "start line is too long");
    return HTTP_BAD;
  }
  *seen = n;
  return HTTP_MORE;
}

long http_parse_request(const char *p, size_t n, const struct http_limits *limits, size_t *seen, struct http_head *out,
                        struct http_error *err) {
  struct header_walk w = {.p = p, .head = out, .err = err, .request = true};
  if (n == 0) return HTTP_MORE;
  // Checks the first byte before a line is complete, because a client that speaks TLS or another protocol may never
  // send a line end.
  if (!is(*p, TOKEN)) return refuse(&w, 400, "malformed method"), HTTP_BAD;
  return parse_head(&w, n, limits, seen);
}

long http_parse_response(const char *p, size_t n, const struct http_limits *limits, size_t *seen, struct http_head *out,
                         struct http_error *err) {
  struct header_walk w = {.p = p, .head = out, .err = err};
  if (n == 0) return HTTP_MORE;
  if (*p != 'H') return refuse(&w, 502, "malformed HTTP version"), HTTP_BAD;
  return parse_head(&w, n, limits, seen);
}

// Returns the index of the first header with this name at or after `from`, or header_count.
static size_t find_from(const struct http_head *h, str name, size_t from) {
  if (name.n == 0 || !(h->names & name_bit(name))) return h->header_count;
  for (; from < h->header_count; from++) {
    str have = h->headers[from].name;
    if (have.n == name.n && same_name(have, name)) break;
  }
  return from;
}

const struct http_header *http_find(const struct http_head *h, str name) {
  size_t i = find_from(h, name, 0);
  return i < h->header_count ? &h->headers[i] : NULL;
}

str http_value(const struct http_head *h, str name) {
  const struct http_header *found = http_find(h, name);
  return found ? found->value : STR_NONE;
}

size_t http_count(const struct http_head *h, str name) {
  size_t count = 0;
  for (size_t i = find_from(h, name, 0); i < h->header_count; i = find_from(h, name, i + 1)) count++;
  return count;
}

// Returns the number of bytes before the first comma, or with `quotes`, before the first comma outside a quoted string.
static size_t item_length(str s, bool quotes) {
  if (!quotes) {
    const char *comma = memchr(s.p, ',', s.n);
    return comma ? (size_t)(comma - s.p) : s.n;
  }
  bool quoted = false;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] == '"') quoted = !quoted;
    else if (s.p[i] == '\\' && quoted) i++;
    else if (s.p[i] == ',' && !quoted) return i;
  }
  return s.n;
}

bool http_list_has(str value, str token) {
  if (str_eq(value, token)) return true;
  bool quotes = value.n && memchr(value.p, '"', value.n);
  while (value.n >= token.n && value.n) {
    size_t n = item_length(value, quotes);
    str item = {value.p, n};
    const char *parameters = n >= token.n ? memchr(item.p, ';', n) : NULL;
    if (parameters) item.n = (size_t)(parameters - item.p);
    if (item.n >= token.n && str_eq_nocase(str_trim(item), token)) return true;
    value = str_from(value, n + 1);
  }
  return false;
}

const char *http_reason(int status) {
  switch (status) {
  case 100: return "Continue";
  case 101: return "Switching Protocols";
  case 200: return "OK";
  case 201: return "Created";
  case 202: return "Accepted";
  case 204: return "No Content";
  case 206: return "Partial Content";
  case 301: return "Moved Permanently";
  case 302: return "Found";
  case 303: return "See Other";
  case 304: return "Not Modified";
  case 307: return "Temporary Redirect";
  case 308: return "Permanent Redirect";
  case 400: return "Bad Request";
  case 401: return "Unauthorized";
  case 402: return "Payment Required";
  case 403: return "Forbidden";
  case 404: return "Not Found";
  case 405: return "Method Not Allowed";
  case 406: return "Not Acceptable";
  case 408: return "Request Timeout";
  case 409: return "Conflict";
  case 410: return "Gone";
  case 411: return "Length Required";
  case 412: return "Precondition Failed";
  case 413: return "Content Too Large";
  case 414: return "URI Too Long";
  case 415: return "Unsupported Media Type";
  case 416: return "Range Not Satisfiable";
  case 417: return "Expectation Failed";
  case 421: return "Misdirected Request";
  case 422: return "Unprocessable Content";
  case 425: return "Too Early";
  case 426: return "Upgrade Required";
  case 428: return "Precondition Required";
  case 429: return "Too Many Requests";
  case 431: return "Request Header Fields Too Large";
  case 500: return "Internal Server Error";
  case 501: return "Not Implemented";
  case 502: return "Bad Gateway";
  case 503: return "Service Unavailable";
  case 504: return "Gateway Timeout";
  case 505: return "HTTP Version Not Supported";
  case 508: return "Loop Detected";
  default: return "Unknown";
  }
}

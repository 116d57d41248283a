// SPDX-License-Identifier: Apache-2.0
// textkit: small tools for text as an MCP server. It keeps nothing between calls.
#include <openssl/evp.h>

#include "base/crypto/hash.h"
#include "base/text/utf8.h"
#include "server.h"
#include "json/pointer.h"

enum { MAX_LINES = 2000, MAX_OUT = 16 << 20 };

// ---- word_count ----

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static void run_word_count(struct request *r, const struct json *arguments) {
  str text;
  if (!tool_string(r, arguments, "text", &text)) return;
  size_t words = 0, lines = 0, characters = 0;
  for (size_t i = 0; i < text.n; i++) {
    if (!is_blank(text.p[i]) && (i == 0 || is_blank(text.p[i - 1]))) words++;
    if (text.p[i] == '\n' || i + 1 == text.n) lines++;
    if (((unsigned char)text.p[i] & 0xc0) != 0x80) characters++;
  }
  tool_data(r, arena_printf(r->arena, "{\"words\":%zu,\"lines\":%zu,\"characters\":%zu,\"bytes\":%zu}", words, lines,
                            characters, text.n));
}

// ---- diff ----

struct lines {
  str *line;
  size_t n;
};

// False when there are more than MAX_LINES.
static bool split_lines(struct arena *a, str text, struct lines *out) {
  struct lines l = {ARENA_ARRAY(a, str, MAX_LINES), 0};
  for (str tail; text.n; text = tail) {
    if (l.n == MAX_LINES) return false;
    str_cut(text, '\n', &l.line[l.n++], &tail);
  }
  *out = l;
  return true;
}

// common[i * (b.n + 1) + j]: how many lines a from i on and b from j on have in common, in order.
static uint16_t *count_common(struct arena *arena, struct lines a, struct lines b) {
  size_t width = b.n + 1;
  uint16_t *common = ARENA_ARRAY(arena, uint16_t, (a.n + 1) * width);
  for (size_t i = a.n; i-- > 0;)
    for (size_t j = b.n; j-- > 0;) {
      uint16_t down = common[(i + 1) * width + j], right = common[i * width + j + 1];
      if (str_eq(a.line[i], b.line[j])) common[i * width + j] = (uint16_t)(common[(i + 1) * width + j + 1] + 1);
      else common[i * width + j] = down > right ? down : right;
    }
  return common;
}

static void put_line(struct buf *out, char mark, str line) {
  buf_char(out, mark);
  buf_str(out, line);
  buf_char(out, '\n');
}

static void put_diff(struct buf *out, struct arena *arena, struct lines a, struct lines b) {
  size_t width = b.n + 1, i = 0, j = 0;
  const uint16_t *common = count_common(arena, a, b);
  while (i < a.n || j < b.n) {
    if (i < a.n && j < b.n && str_eq(a.line[i], b.line[j])) {
      put_line(out, ' ', a.line[i]);
      i++, j++;
    } else if (j == b.n || (i < a.n && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      put_line(out, '-', a.line[i++]);
    } else {
      put_line(out, '+', b.line[j++]);
    }
  }
}

static void run_diff(struct request *r, const struct json *arguments) {
  str before, after;
  struct lines a, b;
  if (!tool_string(r, arguments, "before", &before) || !tool_string(r, arguments, "after", &after)) return;
  if (!split_lines(r->arena, before, &a) || !split_lines(r->arena, after, &b))
    return tool_fail(r, "Each text can have %d lines.", MAX_LINES);
  struct buf out;
  buf_init(&out, MAX_OUT);
  put_diff(&out, r->arena, a, b);
  tool_text(r, buf_view(&out));
  buf_done(&out);
}

// ---- hash, base64 ----

static void run_hash(struct request *r, const struct json *arguments) {
  str text;
  if (!tool_string(r, arguments, "text", &text)) return;
  unsigned char digest[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  hash_sha256(text, digest);
  hash_hex(digest, sizeof digest, hex);
  tool_text(r, str_of(hex));
}

static void run_base64_encode(struct request *r, const struct json *arguments) {
  str text;
  if (!tool_string(r, arguments, "text", &text)) return;
  unsigned char *out = arena_alloc(r->arena, text.n / 3 * 4 + 5);
  int n = EVP_EncodeBlock(out, (const unsigned char *)text.p, (int)text.n);
  tool_text(r, (str){(const char *)out, (size_t)n});
}

// The number of padding characters, 0 to 2, or -1 when the text is no base64. OpenSSL would let more through.
static int base64_padding(str s) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  int padding = 0;
  while (padding < 2 && s.n && s.p[s.n - 1] == '=') s.n--, padding++;
  for (size_t i = 0; i < s.n; i++)
    if (!memchr(alphabet, s.p[i], sizeof alphabet - 1)) return -1;
  return (s.n + (size_t)padding) % 4 ? -1 : padding;
}

static void run_base64_decode(struct request *r, const struct json *arguments) {
  str text;
  if (!tool_string(r, arguments, "base64", &text)) return;
  int padding = base64_padding(text);
  if (padding < 0) return tool_fail(r, "This is not base64.");
  unsigned char *out = arena_alloc(r->arena, text.n / 4 * 3 + 1);
  // The padding counts in what EVP_DecodeBlock gives.
  int n = text.n ? EVP_DecodeBlock(out, (const unsigned char *)text.p, (int)text.n) - padding : 0;
  str decoded = {(const char *)out, (size_t)n};
  if (!utf8_valid(decoded)) return tool_fail(r, "These bytes are not text.");
  tool_text(r, decoded);
}

// ---- json_lookup ----

static void run_json_lookup(struct request *r, const struct json *arguments) {
  str document, pointer;
  if (!tool_string(r, arguments, "document", &document) || !tool_string(r, arguments, "pointer", &pointer)) return;
  struct fault fault;
  struct json *root = json_parse(r->arena, document, &json_default_limits, &fault);
  if (!root) return tool_fail(r, "The document is no JSON: %s (%s).", fault.message, fault.path);
  const struct json *found = json_pointer_find(root, pointer);
  if (!found) return tool_fail(r, "There is nothing at \"%.*s\".", STR_ARG(pointer));
  tool_text(r, json_span(found));
}

#define ONE_STRING(name) \
  "{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define TWO_STRINGS(one, two) \
  "{\"type\":\"object\",\"properties\":{\"" one "\":{\"type\":\"string\"},\"" two "\":{\"type\":\"string\"}}," \
  "\"required\":[\"" one "\",\"" two "\"]}"

static const struct tool tools[] = {
    {.name = "word_count",
     .description = "Counts the words, lines, characters and bytes of a text.",
     .input_schema = ONE_STRING("text"),
     .output_schema = "{\"type\":\"object\",\"properties\":{\"words\":{\"type\":\"integer\"},\"lines\":{\"type\":"
                      "\"integer\"},\"characters\":{\"type\":\"integer\"},\"bytes\":{\"type\":\"integer\"}},"
                      "\"required\":[\"words\",\"lines\",\"characters\",\"bytes\"]}",
     .read_only = true,
     .run = run_word_count},
    {.name = "diff",
     .description =
         "Compares two texts line by line: kept lines begin with a blank, removed ones with -, new ones with +.",
     .input_schema = TWO_STRINGS("before", "after"),
     .read_only = true,
     .run = run_diff},
    {.name = "sha256",
     .description = "Gives the SHA-256 of a text in hexadecimal.",
     .input_schema = ONE_STRING("text"),
     .read_only = true,
     .run = run_hash},
    {.name = "base64_encode",
     .description = "Encodes a text in base64.",
     .input_schema = ONE_STRING("text"),
     .read_only = true,
     .run = run_base64_encode},
    {.name = "base64_decode",
     .description = "Decodes base64 that holds text.",
     .input_schema = ONE_STRING("base64"),
     .read_only = true,
     .run = run_base64_decode},
    {.name = "json_lookup",
     .description = "Gives the part of a JSON document that a JSON Pointer names, such as /items/0/name.",
     .input_schema = TWO_STRINGS("document", "pointer"),
     .read_only = true,
     .run = run_json_lookup},
};

int main(void) {
  struct server s = {
      .name = "textkit",
      .instructions = "Small tools for text: counting, comparing, hashing, encoding, looking into JSON.",
      .capabilities = "{\"tools\":{}}",
      .tools = tools,
      .tool_count = sizeof tools / sizeof *tools,
  };
  return server_run(&s);
}

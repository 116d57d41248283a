// SPDX-License-Identifier: Apache-2.0
// Formats the body of an audit line as plain ASCII. Names of clients, servers and rules are escaped, so that they
// cannot end the line, move the cursor or reverse the text direction on a reader's terminal.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "observe/audit_impl.h"
#include "json/text.h"

enum {
  NAME_MOST = 256,        // maximum bytes of a name before escaping
  NAME_WRITTEN = 768,     // maximum bytes of a name after escaping; one byte becomes up to six
  ARGUMENTS_MOST = 8192,  // maximum bytes of arguments after escaping
};

static bool is_plain(char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static size_t plain_run(str s) {
  size_t n = 0;
  while (n < s.n && is_plain(s.p[n])) n++;
  return n;
}

// Writes a string with escapes. Stops after NAME_WRITTEN bytes: escapes can make a string six times as long.
static void put_string(struct buf *out, str s) {
  enum { PAIR = 12 };  // length of the longest escape in bytes
  size_t end = out->n + NAME_WRITTEN - PAIR;
  buf_char(out, '"');
  while (s.n && out->n < end) {
    size_t n = plain_run(s);
    buf_add(out, s.p, n);
    s = str_from(s, n);
    if (s.n) json_text_escape_code(out, utf8_next(&s));
  }
  buf_char(out, '"');
}

// Appends the valid JSON `s`, with escapes for characters outside printable ASCII. Control characters in `s` are white
// space between tokens. Returns false if the escaped text needs more than `most` bytes.
static bool put_json(struct buf *out, str s, size_t most) {
  size_t end = out->n + most;
  while (s.n) {
    size_t n = 0;
    if (out->n + s.n > end) return false;  // the rest of `s` needs at least s.n bytes, so it does not fit
    while (n < s.n && s.p[n] >= 0x20 && s.p[n] < 0x7f) n++;
    buf_add(out, s.p, n);
    s = str_from(s, n);
    if (!s.n) break;
    uint32_t c = utf8_next(&s);
    if (c < 0x20) buf_char(out, ' ');
    else json_text_escape_code(out, c);
  }
  return out->n <= end;
}

// The key of a member with its punctuation, as one constant for speed: keys make up most of a line.
#define KEY(name) STR(",\"" name "\":")

// Appends a key and a value that needs no escapes.
static void put_plain(struct buf *out, str key, str value) {
  char *p = buf_room(out, key.n + value.n + 2);
  if (!p) return;
  memcpy(p, key.p, key.n);
  p[key.n] = '"';
  memcpy(p + key.n + 1, value.p, value.n);
  p[key.n + 1 + value.n] = '"';
  out->n += key.n + value.n + 2;
}

static void put_text(struct buf *out, str key, str value) {
  if (value.n > NAME_MOST) value = utf8_cut(value, NAME_MOST);
  ASSERT(value.n <= NAME_MOST);
  if (value.n && plain_run(value) == value.n) {
    put_plain(out, key, value);
    return;
  }
  buf_str(out, key);
  if (value.p) put_string(out, value);
  else buf_str(out, STR("null"));
}

static void put_number(struct buf *out, str key, uint64_t value) {
  buf_str(out, key);
  buf_u64(out, value);
}

static void put_if(struct buf *out, str key, bool value) {
  if (!value) return;
  buf_str(out, key);
  buf_str(out, STR("true"));
}

static void put_time(struct buf *out, str before, int64_t ms) {
  char text[CLOCK_TEXT];
  size_t n = clock_print(ms, text);
  buf_str(out, before);
  buf_add(out, text, n);
  buf_char(out, '"');
}

static void put_latency(struct buf *out, uint64_t us) {
  unsigned rest = (unsigned)(us % 1000);
  char fraction[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
  put_number(out, KEY("latency_ms"), us / 1000);
  buf_add(out, fraction, sizeof fraction);
}

static void put_arguments(struct buf *out, str arguments) {
  if (!arguments.p) return;
  buf_str(out, KEY("arguments"));
  size_t from = out->n;
  if (put_json(out, arguments, ARGUMENTS_MOST)) return;
  out->n = from;
  buf_str(out, STR("null"));
}

// Appends the members of events other than requests.
static void put_event(const struct audit_event *e, struct buf *out) {
  if (e->reason.n) put_text(out, KEY("reason"), e->reason);
  if (e->peer.n) put_text(out, KEY("peer"), e->peer);
  if (e->omitted) put_number(out, KEY("omitted"), e->omitted);
  if (e->omitted_from) put_time(out, STR(",\"omitted_from\":\""), e->omitted_from);
  if (e->omitted_until) put_time(out, STR(",\"omitted_until\":\""), e->omitted_until);
  if (e->rules_before.n) put_text(out, KEY("rules_before"), e->rules_before);
  if (e->rules_after.n) put_text(out, KEY("rules_after"), e->rules_after);
}

// Appends the members that most lines do not have.
static void put_rest(const struct audit_event *e, struct buf *out) {
  if (e->tenant.n) put_text(out, KEY("tenant"), e->tenant);
  if (e->subject.n) put_text(out, KEY("subject"), e->subject);
  if (e->issuer.n) put_text(out, KEY("issuer"), e->issuer);
  if (e->target.p) put_text(out, KEY("target"), e->target);
  if (e->trace.p) put_text(out, KEY("trace_id"), e->trace);
  if (e->decision_id.n) put_text(out, KEY("decision_id"), e->decision_id);
  if (e->envelope_hash.n) put_text(out, KEY("envelope_hash"), e->envelope_hash);
  if (e->key.n) put_text(out, KEY("idempotency_key"), e->key);
  if (e->attempts) put_number(out, KEY("retries"), e->attempts);
  put_if(out, KEY("tool_error"), e->tool_error);
  put_if(out, KEY("cached"), e->cached);
  put_if(out, KEY("dry_run"), e->dry_run);
  put_if(out, KEY("replayed"), e->replayed);
  put_if(out, KEY("effect_unknown"), e->effect_unknown);
  put_if(out, KEY("input_required"), e->asked);
  put_arguments(out, e->arguments);
  put_event(e, out);
}

void audit_put_body(const struct audit_event *e, int64_t wall_ms, struct buf *out) {
  static const str decisions[] = {STR("ALLOW"), STR("DENY"), STR("ERROR"), STR("TIMEOUT"), STR("DRY_RUN")};
  ASSERT((size_t)e->decision < sizeof decisions / sizeof *decisions);
  put_time(out, STR(AUDIT_LINE_BEGIN), wall_ms);
  put_text(out, KEY("agent_id"), e->agent);
  put_text(out, KEY("operation"), e->operation);
  put_text(out, KEY("server"), e->server);
  put_text(out, KEY("tool"), e->tool);
  put_text(out, KEY("decision"), decisions[e->decision]);
  put_latency(out, e->latency_us);
  put_text(out, KEY("rule"), e->rule);
  put_text(out, KEY("code"), e->code);
  put_text(out, KEY("mode"), e->mode);
  put_text(out, KEY("request_id"), e->request_id);
  put_text(out, KEY("session"), e->session);
  put_text(out, KEY("principal"), e->principal);
  put_number(out, KEY("bytes_in"), e->bytes_in);
  put_number(out, KEY("bytes_out"), e->bytes_out);
  put_rest(e, out);
}

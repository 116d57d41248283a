// SPDX-License-Identifier: Apache-2.0
#include "call/bridge/ticket.h"

#include "base/assert.h"
#include "base/mem.h"
#include "json/canon.h"
#include "json/write.h"

// WINDOW: number of newest tickets for which the gateway records whether they were used.
enum { WINDOW = 1 << 20, WORD_BITS = 64, RECORD_VERSION = 1 };

// The first bytes of a ticket before encryption; the upstream's requestState follows. The byte order does not matter,
// because only the process that wrote a ticket reads it.
struct record {
  uint8_t version, kind, has_state, unused;
  uint32_t source;
  uint64_t number, serial, expires, spent_ms;
};

void tickets_init(struct tickets *t, struct loop *l, uint64_t life_ms) {
  *t = (struct tickets){.loop = l, .life_ms = life_ms, .next = 1};
  seal_init(&t->seal, l->rand);
}

void tickets_done(struct tickets *t) {
  mem_free(t->used);
  t->used = NULL;
}

// ---- the request that a ticket is bound to

static void digest_of(const struct json *params, unsigned char out[SHA256_SIZE]) {
  enum { CANON_GROWTH = 6 };  // canonical form makes a value at most 6 times longer: 9e20 (4 bytes) becomes 21 digits
  // Members of the params that are not part of a ticket, because they may differ when the client sends the request
  // again.
  static const struct json_edit leave_out[] = {
      {STR("_meta"), STR_NONE}, {STR("inputResponses"), STR_NONE}, {STR("requestState"), STR_NONE}};
  struct arena scratch;
  struct buf text, canon;
  struct fault f;
  arena_init(&scratch);
  buf_init(&text, params ? params->n : 2);
  if (!params) buf_str(&text, STR("{}"));
  else if (params->type != JSON_OBJECT) buf_str(&text, json_span(params));
  else json_copy_edited(&text, params, leave_out, sizeof leave_out / sizeof *leave_out);
  buf_init(&canon, text.n * CANON_GROWTH);
  const struct json *v = json_parse(&scratch, buf_view(&text), &json_default_limits, &f);
  // Params without a canonical form are compared as text, so the client must repeat them byte for byte.
  bool good = v && json_canon(&canon, v, JSON_CANON_PYTHON, &f) && !canon.over;
  hash_sha256(buf_view(good ? &canon : &text), out);
  buf_done(&canon);
  buf_done(&text);
  arena_done(&scratch);
}

// Writes the caller and the request to which a ticket is bound. All parts except the method have a fixed size, so two
// different requests never give the same bytes.
static void write_bound(const struct ticket_use *use, struct buf *out) {
  unsigned char digest[SHA256_SIZE];
  digest_of(use->params, digest);
  buf_init(out, sizeof use->principal + use->method.n + sizeof digest);
  buf_add(out, &use->principal, sizeof use->principal);
  buf_str(out, use->method);
  buf_add(out, digest, sizeof digest);
}

// ---- issue

// Returns the word and the bit in t->used that belong to a ticket's serial number. Serial numbers that differ by WINDOW
// share a bit.
static uint64_t *used_word(const struct tickets *t, uint64_t serial, uint64_t *out_bit) {
  *out_bit = UINT64_C(1) << serial % WORD_BITS;
  return &t->used[serial % WINDOW / WORD_BITS];
}

void ticket_issue(struct tickets *t, const struct ticket *ticket, const struct ticket_use *use, struct buf *out) {
  uint64_t serial = t->next++, bit;
  ASSERT(ticket->kind <= TICKET_AGAIN && (ticket->has_state || !ticket->state.n));
  if (t->used) *used_word(t, serial, &bit) &= ~bit;
  struct record r = {
      .version = RECORD_VERSION,
      .kind = (uint8_t)ticket->kind,
      .has_state = ticket->has_state,
      .source = ticket->source,
      .number = ticket->number,
      .serial = serial,
      .expires = loop_now(t->loop) + t->life_ms,
      .spent_ms = ticket->spent_ms,
  };
  struct buf plain, bound;
  buf_init(&plain, sizeof r + ticket->state.n);
  buf_add(&plain, &r, sizeof r);
  if (ticket->has_state) buf_str(&plain, ticket->state);
  write_bound(use, &bound);
  seal_close(&t->seal, buf_view(&plain), buf_view(&bound), out);
  buf_done(&bound);
  buf_done(&plain);
}

// ---- redeem

// Marks the ticket with this serial number as used. Returns false if it was used before.
static bool use_once(struct tickets *t, uint64_t serial) {
  if (!t->used) t->used = mem_zero(WINDOW / 8);
  uint64_t bit, *word = used_word(t, serial, &bit);
  if (*word & bit) return false;
  *word |= bit;
  return true;
}

// Sets `f` to FAULT_INVALID with the reason `why` and the advice to send a new request. Returns false.
static bool refuse(struct fault *f, const char *why) {
  fault_set(f, FAULT_INVALID, "%s; send the request again without requestState and inputResponses", why);
  return false;
}

static bool admit(struct tickets *t, const struct record *r, struct fault *f) {
  ASSERT(r->serial < t->next);
  if (loop_now(t->loop) >= r->expires) return refuse(f, "requestState has expired: the answers came too late");
  if (t->next - r->serial > WINDOW) return refuse(f, "requestState is too old: more than a million newer ones exist");
  if (!use_once(t, r->serial)) return refuse(f, "requestState was used already: it is valid only once");
  return true;
}

bool ticket_redeem(struct tickets *t, str text, const struct ticket_use *use, struct arena *a, struct ticket *out,
                   struct fault *f) {
  str plain;
  struct buf bound;
  write_bound(use, &bound);
  bool good = seal_open(&t->seal, text, buf_view(&bound), a, &plain);
  buf_done(&bound);
  if (!good)
    return refuse(f, "requestState does not match this request: caller, method and arguments must be those of the "
                     "first request");
  struct record r;
  ASSERT(plain.n >= sizeof r);  // the ticket could be decrypted, so this process created it
  memcpy(&r, plain.p, sizeof r);
  ASSERT(r.version == RECORD_VERSION);
  if (!admit(t, &r, f)) return false;
  *out = (struct ticket){
      .kind = r.kind,
      .number = r.number,
      .source = r.source,
      .has_state = r.has_state,
      .state = r.has_state ? str_from(plain, sizeof r) : STR_NONE,
      .spent_ms = r.spent_ms,
  };
  return true;
}

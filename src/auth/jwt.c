// SPDX-License-Identifier: Apache-2.0
#include "auth/jwt.h"

#include "auth/jwt_impl.h"
#include "base/assert.h"
#include "base/text/base64.h"
#include "policy/policy.h"
#include "json/pointer.h"
#include "json/write.h"

static const struct json_limits limits = {.max_bytes = JWT_TOKEN_MAX, .max_depth = 16};

struct jwt_token {
  str signed_text;  // header and payload, still in base64url
  str signature;
  const struct json *header, *payload;
};

// The reason why a token is rejected.
struct jwt_report {
  struct fault *fault;
  enum jwt_flaw flaw;
};

static bool reject(struct jwt_report *c, enum jwt_flaw flaw, const char *what) {
  fault_set(c->fault, FAULT_INVALID, "the token %s", what);
  c->flaw = flaw;
  return false;
}

// ---- the three parts

static bool decode(str part, struct arena *a, str *out) {
  struct buf b;
  buf_init(&b, part.n + 1);
  bool ok = part.n && base64_decode(part, BASE64_URL, &b);
  if (ok) *out = arena_str(a, buf_view(&b));
  buf_done(&b);
  return ok;
}

static const struct json *decode_object(str part, struct arena *a) {
  str text;
  struct fault ignored;
  const struct json *v = decode(part, a, &text) ? json_parse(a, text, &limits, &ignored) : NULL;
  return json_is(v, JSON_OBJECT) ? v : NULL;
}

static bool split(str text, struct arena *a, struct jwt_token *out, struct jwt_report *c) {
  str header, rest, payload, signature;
  if (text.n > JWT_TOKEN_MAX) return reject(c, JWT_MALFORMED, "is too long");
  if (!str_cut(text, '.', &header, &rest) || !str_cut(rest, '.', &payload, &signature))
    return reject(c, JWT_MALFORMED, "is not a JSON Web Token");
  out->signed_text = (str){text.p, header.n + 1 + payload.n};
  out->header = decode_object(header, a);
  out->payload = decode_object(payload, a);
  if (!out->header || !out->payload || !decode(signature, a, &out->signature))
    return reject(c, JWT_MALFORMED, "is not a JSON Web Token");
  return true;
}

// ---- the signature

static bool read_algorithm(const struct json *header, unsigned accepted, enum jwt_algorithm *out) {
  const struct json *alg = json_get(header, STR("alg"));
  for (int i = 0; i < JWT_ALGORITHMS; i++) {
    if (!(accepted & jwt_bit((enum jwt_algorithm)i)) || !json_equals_str(alg, str_of(jwt_algorithm_names[i]))) continue;
    *out = (enum jwt_algorithm)i;
    return true;
  }
  return false;
}

// Returns whether the token's type is that of an access token. Tokens issued for other purposes must be rejected even
// if the signature is valid (RFC 8725, 3.11).
static bool is_access_token(const struct json *header, struct arena *a) {
  static const str types[] = {STR("JWT"), STR("at+jwt"), STR("application/at+jwt"), STR("application/jwt")};
  const struct json *v = json_get(header, STR("typ"));
  str type;
  if (!v) return true;
  if (!json_string(v, a, &type)) return false;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (str_eq_nocase(type, types[i])) return true;
  return false;
}

static bool check_signature(const struct jwt_keys *keys, unsigned accepted, const struct jwt_token *t, struct arena *a,
                            struct jwt_report *c) {
  enum jwt_algorithm algorithm;
  str id = STR_NONE;
  bool found = false;
  const struct json *named = json_get(t->header, STR("kid"));
  if (named && !json_string(named, a, &id)) return reject(c, JWT_MALFORMED, "has a key id that is not a string");
  if (json_get(t->header, STR("crit"))) return reject(c, JWT_MALFORMED, "requires unknown extensions");
  if (!is_access_token(t->header, a)) return reject(c, JWT_MALFORMED, "is not an access token (typ)");
  if (!read_algorithm(t->header, accepted, &algorithm))
    return reject(c, JWT_ALGORITHM, "is signed with an algorithm that is not accepted");
  for (size_t i = 0; i < keys->count; i++) {
    // If both the token and the key have a key id, the two ids must be equal.
    const struct jwt_key *k = &keys->list[i];
    if (k->algorithm != algorithm || (id.p && k->id.p && !str_eq(k->id, id))) continue;
    found = true;
    if (jwt_check_signature(k, t->signed_text, t->signature)) return true;
  }
  return found ? reject(c, JWT_SIGNATURE, "has a wrong signature")
               : reject(c, JWT_UNKNOWN_KEY, "is signed with an unknown key");
}

// ---- the claims

// Reads a time in seconds, which must be below 1e12. Drops fractions of a second, which some issuers write.
static bool read_time(const struct json *payload, const char *name, int64_t *out) {
  const struct json *v = json_get(payload, str_of(name));
  double seconds;
  if (!json_double(v, &seconds) || !(seconds >= 0 && seconds < 1e12)) return false;
  if (json_int(v, out)) return true;
  *out = (int64_t)seconds;
  return true;
}

static bool check_times(const struct json *payload, const struct jwt_rules *rules, int64_t now, int64_t *out_expires,
                        struct jwt_report *c) {
  int64_t begins;
  if (!read_time(payload, "exp", out_expires)) return reject(c, JWT_EXPIRED, "has no valid expiry time");
  if (now - rules->leeway >= *out_expires) return reject(c, JWT_EXPIRED, "has expired");
  if (!json_get(payload, STR("nbf"))) return true;
  if (!read_time(payload, "nbf", &begins)) return reject(c, JWT_EARLY, "has an invalid start time");
  return now + rules->leeway >= begins || reject(c, JWT_EARLY, "is not valid yet");
}

static bool is_for(const struct json *audience, str name) {
  if (json_is(audience, JSON_STRING)) return json_equals_str(audience, name);
  if (!json_is(audience, JSON_ARRAY)) return false;
  JSON_EACH(it, audience)
    if (json_equals_str(it, name)) return true;
  return false;
}

// Returns the scopes of a token. The standard claim is the string "scope" (RFC 9068); some issuers send a list "scp"
// instead.
static str read_scope(const struct json *payload, struct arena *a) {
  const struct json *scope = json_get(payload, STR("scope")), *list = json_get(payload, STR("scp"));
  str text = STR("");
  if (!scope && json_is(list, JSON_ARRAY)) {
    struct buf b;
    buf_init(&b, JWT_TOKEN_MAX);
    JSON_EACH(it, list) {
      if (!json_string(it, a, &text)) continue;
      buf_str(&b, text);
      buf_char(&b, ' ');
    }
    text = arena_str(a, buf_view(&b));
    buf_done(&b);
    return text;
  }
  json_string(scope ? scope : list, a, &text);
  return text;
}

// Returns the claims without exp, iat, nbf and jti, which differ between tokens of one identity.
static str lasting_claims(const struct json *payload, struct arena *a) {
  static const str passing[] = {STR("exp"), STR("iat"), STR("nbf"), STR("jti")};
  struct json_edit edits[4];
  size_t count = 0;
  for (size_t i = 0; i < 4; i++)
    if (json_get(payload, passing[i])) edits[count++] = (struct json_edit){passing[i], STR_NONE};
  return json_edited(a, payload, edits, count);
}

static bool is_name(str s) {
  for (size_t i = 0; i < s.n; i++)
    if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) return false;
  return s.n && s.n <= JWT_NAME_MAX;
}

static bool check_claims(const struct json *payload, const struct jwt_rules *rules, struct arena *a,
                         struct jwt_claims *out, struct jwt_report *c) {
  if (rules->issuer.p && !json_equals_str(json_get(payload, STR("iss")), rules->issuer))
    return reject(c, JWT_ISSUER, "is from another issuer");
  const struct json *audience = json_get(payload, STR("aud"));
  bool ours = !rules->audience.p || is_for(audience, rules->audience);
  for (size_t i = 0; i < rules->part_count && !ours; i++) ours = is_for(audience, rules->parts[i]);
  if (!ours) return reject(c, JWT_AUDIENCE, "is for another audience");
  if (!json_string(json_get(payload, rules->claim), a, &out->agent) ||
      !(rules->any_name ? is_name(out->agent) : policy_is_agent_id(out->agent)))
    return reject(c, JWT_NAMELESS, rules->any_name ? "does not name a workload" : "does not name an agent");
  // The subject becomes the principal. A token without a subject is rejected, because different callers would share one
  // principal. A subject with a NUL is rejected, because it could be read as a shorter subject.
  str subject;
  if (!json_string(json_get(payload, STR("sub")), a, &subject) || !subject.n || memchr(subject.p, 0, subject.n))
    return reject(c, JWT_MALFORMED, "does not name its subject (sub)");
  out->subject = subject;
  out->tenant = STR_NONE;
  if (rules->tenant.p)
    json_string(str_starts(rules->tenant, STR("/")) ? json_pointer_find((struct json *)payload, rules->tenant)
                                                    : json_get(payload, rules->tenant),
                a, &out->tenant);
  out->all = rules->keep ? lasting_claims(payload, a) : STR_NONE;
  out->scope = read_scope(payload, a);
  return true;
}

bool jwt_verify(const struct jwt_keys *keys, const struct jwt_rules *rules, str token, int64_t now, struct arena *a,
                struct jwt_claims *out, enum jwt_flaw *out_flaw, struct fault *f) {
  struct jwt_token t;
  struct jwt_claims claims = {0};
  struct jwt_report c = {f, JWT_FINE};
  ASSERT_MAGIC(keys, JWT_KEYS_MAGIC);
  bool ok = split(token, a, &t, &c) && check_signature(keys, rules->algorithms, &t, a, &c) &&
            check_times(t.payload, rules, now, &claims.expires, &c) && check_claims(t.payload, rules, a, &claims, &c);
  ASSERT(ok == (c.flaw == JWT_FINE));
  if (ok) *out = claims;
  if (out_flaw) *out_flaw = c.flaw;
  return ok;
}

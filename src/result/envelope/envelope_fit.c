// SPDX-License-Identifier: Apache-2.0
// Decides which parts of a result stay unchanged. Everything that a client may show to the model counts against the
// budget: texts and the JSON around them, links, unknown parts, and optional members of the result.
#include "base/assert.h"
#include "result/envelope/envelope_impl.h"
#include "result/envelope/same_json.h"
#include "text/tokens.h"

enum {
  SEEN = 16,         // maximum number of images and sounds that stay in the result
  MEDIA_BYTES = 64,  // maximum length of a media type
  FREE_PARTS = 16,   // number of parts of which only the text counts; each further part costs one token more
};

bool envelope_text_says(const struct envelope *e) {
  const struct parts *parts = &e->parts;
  for (size_t i = 0; i < parts->count; i++)
    if (parts->list[i].text.p && says_same(parts->list[i].text, json_span(parts->structured))) return true;
  return false;
}

static bool take_tokens(str text, size_t *left) {
  if (!tokens_fit(text, *left)) return false;
  *left -= tokens_count(text);
  return true;
}

// ---- one part

static bool is_media(const struct part *p) {
  return p->type == PART_IMAGE || p->type == PART_AUDIO;
}

// Returns whether the model reads a part as JSON: true unless the part is text, an image or audio.
static bool is_read(const struct part *p) {
  return !p->text.p && !is_media(p);
}

bool envelope_is_media_type(str s) {
  size_t slashes = 0;
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z', digit = c >= '0' && c <= '9';
    if (!letter && !digit && !(c && strchr("/.+-", c))) return false;
    slashes += c == '/';
  }
  return !s.p || (slashes == 1 && s.n <= MEDIA_BYTES);
}

// Returns whether the data has only base64 characters; anything else is text that a model could read.
static bool is_base64(str s) {
  while (s.n && s.p[s.n - 1] == '=') s.n--;
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z', digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '+' && c != '/') return false;
  }
  return true;
}

// Returns whether a part has only the members type and text, or type, data and mimeType.
static bool is_plain(const struct part *p) {
  size_t members = p->json->count;
  if (p->type == PART_TEXT) return members <= (json_get(p->json, STR("type")) ? 2 : 1);
  return is_media(p) && envelope_is_media_type(p->media_type) && members == 2 + (size_t)(p->media_type.p != NULL);
}

// Subtracts from *left the tokens of a part's JSON, not counting its text or data. Returns false if *left is too small.
static bool take_frame(const struct part *p, size_t *left) {
  const struct json *held = p->words ? p->words : json_get(p->json, STR("data"));
  str all = json_span(p->json);
  if (is_plain(p)) return true;
  if (!held || held->p < all.p || held->p + held->n > all.p + all.n) return take_tokens(all, left);
  str before = {all.p, (size_t)(held->p - all.p)};
  return take_tokens(before, left) && take_tokens(str_from(all, before.n + held->n), left);
}

// ---- members of the result other than its content

// Returns whether a member of the result may stay in addition to content, structuredContent and isError. For a resource
// or prompt, only _meta may stay.
static bool is_rest(const struct envelope *e, const struct json *m) {
  if (e->order->kind != ENVELOPE_TOOL) return json_key_is(m, STR("_meta"));
  if (json_key_is(m, STR("resultType"))) return !json_equals_str(m, STR("complete"));
  return !json_key_is(m, STR("content")) && !json_key_is(m, STR("structuredContent")) &&
         !json_key_is(m, STR("isError"));
}

static bool take_rest(const struct envelope *e, size_t *left) {
  if (e->parts.odd_error && !take_tokens(json_span(json_get(e->order->result, STR("isError"))), left)) return false;
  JSON_EACH(m, e->order->result)
    if (is_rest(e, m) && !(take_tokens(json_key(m, e->a), left) && take_tokens(json_span(m), left))) return false;
  return true;
}

size_t envelope_drop_rest(const struct envelope *e, struct json_edit *edits) {
  size_t count = 0;
  JSON_EACH(m, e->order->result)
    if (is_rest(e, m) && !json_key_is(m, STR("_meta")))
      edits[count++] = (struct json_edit){json_key(m, e->a), STR_NONE};
  return count;
}

// ---- the whole result

// Returns whether everything that the model would read is within the budget.
static bool reads_short(const struct envelope *e) {
  const struct parts *parts = &e->parts;
  size_t left = e->budget;
  if (e->order->result->n <= left) return true;  // fits, because a token has at least one byte
  if (parts->count > FREE_PARTS + left) return false;
  if (parts->count > FREE_PARTS) left -= parts->count - FREE_PARTS;
  for (size_t i = 0; i < parts->count; i++) {
    const struct part *p = &parts->list[i];
    if (p->text.p && !take_tokens(p->text, &left)) return false;
    bool fits =
        is_read(p) ? take_tokens(json_span(p->json), &left) : e->order->kind == ENVELOPE_PROMPT || take_frame(p, &left);
    if (!fits) return false;
  }
  if (parts->unusual && !take_tokens(json_span(e->order->result), &left)) return false;
  if (e->order->kind == ENVELOPE_TOOL && !take_rest(e, &left)) return false;
  if (!parts->structured) return true;
  // Structured content must fit the budget even if a text repeats it, because some clients show only structured
  // content.
  return tokens_fit(json_span(parts->structured), e->budget) &&
         (envelope_text_says(e) || take_tokens(json_span(parts->structured), &left));
}

// Chooses the images and sounds that stay in the result: the first SEEN small ones. Returns whether all images and
// sounds stay.
static bool choose_seen(struct envelope *e) {
  size_t left = ENVELOPE_PARTS_BYTES, seen = 0;
  bool all = true;
  e->kept = ARENA_ARRAY(e->a, bool, e->parts.count);
  for (size_t i = 0; i < e->parts.count; i++) {
    const struct part *p = &e->parts.list[i];
    if (p->text.p || is_read(p)) continue;
    e->kept[i] = seen < SEEN && p->json->n <= ENVELOPE_PART_BYTES && p->json->n <= left && is_base64(p->data);
    if (e->kept[i]) left -= p->json->n, seen++;
    all = all && e->kept[i];
  }
  return all;
}

bool envelope_fits(struct envelope *e) {
  return choose_seen(e) && reads_short(e);
}

void envelope_choose(struct envelope *e) {
  ASSERT(e->kept || !e->parts.count);
  size_t left = e->whole ? e->budget : e->budget / 4, had = left;
  for (size_t i = 0; i < e->parts.count; i++) {
    const struct part *p = &e->parts.list[i];
    if (is_read(p)) e->kept[i] = take_tokens(json_span(p->json), &left);
    else if (is_media(p) && e->kept[i]) e->kept[i] = take_frame(p, &left);
  }
  size_t rest = left;
  e->rest_kept = take_rest(e, &rest);
  if (e->rest_kept) left = rest;
  ASSERT(left <= had);
  e->kept_tokens = e->whole ? 0 : had - left;
}

// ---- invalid content

bool part_is_broken(const struct part *p) {
  static const str known[] = {STR("text"), STR("image"), STR("audio"), STR("resource"), STR("resource_link")};
  const struct json *type = json_get(p->json, STR("type"));
  if (p->type != PART_OTHER || json_is_folded(p->json)) return false;
  if (!json_is(p->json, JSON_OBJECT) || !json_is(type, JSON_STRING)) return true;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (json_equals_str(type, known[i])) return true;
  return false;
}

bool envelope_content_broken(const struct envelope *e) {
  if (!json_is(json_get(e->order->result, STR("content")), JSON_ARRAY)) return true;
  for (size_t i = 0; i < e->parts.count; i++)
    if (part_is_broken(&e->parts.list[i])) return true;
  return false;
}

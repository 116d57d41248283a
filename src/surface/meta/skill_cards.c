// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/skill_cards.h"

#include "base/ascii.h"
#include "call/caller.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "json/write.h"

enum { WORD_MIN = 3, DEFINITION_BYTES = 2 << 20 };

struct asking {
  struct surface *d;
  const struct caller *caller;
};

static bool may_use(void *ctx, const struct skill_capability *needed) {
  const struct asking *a = ctx;
  const struct governance_capability *c = governance_find(a->caller->governance, needed->name);
  return c && c->class == needed->class && c->adapter->server.p &&
         caller_decide(a->caller, c->adapter->server, ITEM_TOOL, c->name).allowed;
}

bool skill_cards_shows(struct surface *d, const struct caller *caller, const struct skill_entry *e) {
  struct asking a = {d, caller};
  return e->active && !e->flaw.p && skill_serves(e->skill, caller->run->governed.subject.tenant) &&
         skills_each_capability(governance_skills(caller->governance), e, may_use, &a);
}

// ---- cards

static bool contains(str text, str word) {
  for (size_t i = 0; i + word.n <= text.n; i++)
    if (str_eq_nocase((str){text.p + i, word.n}, word)) return true;
  return false;
}

// Returns whether at least half of the words of the query occur in the id or in the purpose.
static bool matches(const struct skill *s, str query) {
  size_t words = 0, found = 0;
  for (size_t at = 0; at < query.n;) {
    size_t n = 0;
    while (at + n < query.n && (ascii_is_alnum(query.p[at + n]) || (query.p[at + n] & 0x80))) n++;
    str word = {query.p + at, n};
    at += n ? n : 1;
    if (n < WORD_MIN) continue;
    words++;
    found += contains(s->skill_id, word) || contains(s->purpose, word);
  }
  return !query.n || (found && 2 * found >= words);
}

static bool make_card(struct surface *d, const struct caller *caller, const struct skill_entry *e, struct card *out) {
  struct fault f;
  str names[CARD_PARAMS];
  struct card_params params = {.names = names};
  const struct json *properties = json_get(e->skill->inputs, STR("properties"));
  if (json_is(properties, JSON_OBJECT)) {
    JSON_EACH(it, properties) {
      if (params.count == CARD_PARAMS) break;
      names[params.count++] = json_key(it, &d->scratch);
    }
    params.required = params.count;
  }
  const struct skills *all = governance_skills(caller->governance);
  bool provisional;
  enum approval_mode mode = skills_mode(all, e, caller->governance, &provisional);
  struct card_source source = {.id = e->skill->skill_id,
                               .name = e->skill->skill_id,
                               .description = e->skill->purpose,
                               .kind = CARD_SKILL,
                               .side_effects = mode != APPROVAL_READ_ONLY,
                               .params = &params};
  if (!card_make(&source, &d->scratch, out, NULL, &f)) return false;
  out->mode = str_of(approval_mode_name(mode));
  out->provisional = provisional;
  return true;
}

size_t skill_cards_find(struct surface *d, const struct session *s, str query, struct card *out, size_t room) {
  struct caller caller;
  struct fault f;
  size_t n = 0;
  if (!surface_caller(d, s, &caller, &f) || !caller.governance) return 0;
  const struct skills *all = governance_skills(caller.governance);
  for (size_t i = 0; all && i < all->count && n < room; i++) {
    const struct skill_entry *e = &all->list[i];
    if (skill_cards_shows(d, &caller, e) && matches(e->skill, query) && make_card(d, &caller, e, &out[n])) n++;
  }
  return n;
}

// ---- the definition

static void put_conditions(const char *key, const struct skill_condition *list, size_t count, struct json_writer *w) {
  json_put_key(w, str_of(key));
  json_begin_array(w);
  for (size_t i = 0; i < count; i++) json_put_raw(w, json_span(list[i].text));
  json_end_array(w);
}

static void put_steps(const struct skill *s, struct json_writer *w) {
  json_put_key(w, STR("steps"));
  json_begin_array(w);
  for (size_t i = 0; i < s->step_count; i++) {
    const struct skill_step *step = &s->steps[i];
    json_begin_object(w);
    json_member_str(w, STR("id"), step->id);
    if (step->capability.p) json_member_str(w, STR("capability"), step->capability);
    else json_member_str(w, STR("skill"), step->skill);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_capabilities(const struct skill *s, struct json_writer *w) {
  json_put_key(w, STR("required_capabilities"));
  json_begin_array(w);
  for (size_t i = 0; i < s->capability_count; i++) {
    json_begin_object(w);
    json_member_str(w, STR("capability_class"),
                    str_of(capability_class_name((enum capability_class)s->capabilities[i].class)));
    json_member_str(w, STR("name"), s->capabilities[i].name);
    json_end_object(w);
  }
  json_end_array(w);
}

bool skill_cards_define(struct surface *d, struct request *r, str id) {
  struct caller caller;
  struct fault f;
  struct buf b;
  if (!skill_is_id(id) || !surface_caller(d, r->session, &caller, &f) || !caller.governance) return false;
  const struct skills *all = governance_skills(caller.governance);
  const struct skill_entry *e = all ? skills_active(all, id) : NULL;
  if (!e || !skill_cards_shows(d, &caller, e)) return false;
  const struct skill *s = e->skill;
  bool provisional;
  enum approval_mode mode = skills_mode(all, e, caller.governance, &provisional);
  buf_init(&b, DEFINITION_BYTES);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("tool_id"), s->skill_id);
  json_member_str(&w, STR("kind"), STR("skill"));
  json_member_str(&w, STR("version"), s->version);
  json_member_str(&w, STR("description"), s->purpose);
  json_member_raw(&w, STR("args_schema"), s->inputs ? json_span(s->inputs) : STR("{\"type\":\"object\"}"));
  json_member_str(&w, STR("mode"), str_of(approval_mode_name(mode)));
  if (provisional) json_member_bool(&w, STR("provisional"), true);
  put_capabilities(s, &w);
  put_conditions("preconditions", s->before, s->before_count, &w);
  put_steps(s, &w);
  put_conditions("postconditions", s->after, s->after_count, &w);
  if (e->fragment.p) json_member_str(&w, STR("prompt_fragment"), e->fragment);
  json_end_object(&w);
  meta_reply(d, r, buf_view(&b), buf_view(&b));
  buf_done(&b);
  return true;
}

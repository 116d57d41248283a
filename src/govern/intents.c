// SPDX-License-Identifier: Apache-2.0
// Intents: which classes of capabilities a run may use. They are the member `intents` of the governance file:
//
//   intents:
//     support.refund: { classes: [observe, verify, act] }
//
// The intent `read_only` excludes the class act, even if the file does not list it. Other intents that the file does
// not list allow every class.
#include <stdlib.h>

#include "base/assert.h"
#include "govern/govern_impl.h"

enum { INTENTS_MAX = 1000, NOT_ACT = (1 << CLASS_NONE) - 1 - (1 << CLASS_ACT) };

static int compare_names(const void *a, const void *b) {
  const struct governance_intent *x = a, *y = b;
  return str_cmp(x->name, y->name);
}

static void read_classes(struct governance_reader *r, str pointer, const struct json *v,
                         const struct governance_field *f, void *to) {
  struct governance_intent *intent = to;
  size_t index = 0;
  if (!json_is(v, JSON_ARRAY)) governance_report(r, pointer, "must be a list of classes");
  else
    JSON_EACH(it, v) {
      str name = STR("");
      json_string(it, r->arena, &name);
      enum capability_class class = capability_class_find(name);
      if (class == CLASS_NONE)
        governance_report(r, governance_below_index(r, pointer, index),
                          "must be observe, recall, think_support, act or verify");
      else intent->classes |= (uint8_t)(1 << class);
      index++;
    }
}

void governance_read_intents(struct governance_reader *r, str pointer, const struct json *v) {
  static const struct governance_field fields[] = {{"classes", read_classes, 0, true, NULL}};
  struct governance *g = r->governance;
  if (!json_is(v, JSON_OBJECT) || v->count > INTENTS_MAX) {
    governance_report(r, pointer, "must be an object of at most %d intents", INTENTS_MAX);
    return;
  }
  g->intents = ARENA_ARRAY(r->arena, struct governance_intent, v->count);
  JSON_EACH(it, v) {
    struct governance_intent *intent = &g->intents[g->intent_count++];
    *intent = (struct governance_intent){json_key(it, r->arena), governance_below(r, pointer, it), 0};
    governance_read_members(r, intent->pointer, it, fields, sizeof fields / sizeof *fields, intent);
    if (str_eq(intent->name, STR("read_only")) && (intent->classes & 1 << CLASS_ACT))
      governance_report(r, intent->pointer, "CLASS_INTENT_CONFLICT: the intent read_only cannot have the class act");
  }
  qsort(g->intents, g->intent_count, sizeof *g->intents, compare_names);
}

bool governance_intent_allows(const struct governance *g, str intent, enum capability_class class, str *out_pointer) {
  if (!intent.p) return true;
  struct governance_intent key = {.name = intent};
  const struct governance_intent *found =
      g->intent_count ? bsearch(&key, g->intents, g->intent_count, sizeof key, compare_names) : NULL;
  if (found) {
    *out_pointer = found->pointer;
    return found->classes >> class & 1;
  }
  *out_pointer = STR("/intents");
  return !str_eq(intent, STR("read_only")) || (NOT_ACT >> class & 1);
}

// SPDX-License-Identifier: Apache-2.0
#include "govern/template.h"

#include "json/pointer.h"

static bool is_expression(const struct json *v, struct arena *a) {
  return v->type == JSON_OBJECT && v->count == 1 && logic_is_operator(json_key(v->child, a));
}

static bool check_below(const struct json *v, str pointer, struct arena *a, struct fault *f) {
  size_t index = 0;
  if (is_expression(v, a)) {
    if (logic_compile(a, v, f)) return true;
    fault_set_path(f, arena_printf(a, "%.*s%s", STR_ARG(pointer), f->path));
    return false;
  }
  if (v->type != JSON_OBJECT && v->type != JSON_ARRAY) return true;
  JSON_EACH(it, v) {
    str below = v->type == JSON_OBJECT ? json_pointer_below(a, pointer, json_key(it, a))
                                       : arena_printf(a, "%.*s/%zu", STR_ARG(pointer), index++);
    if (!check_below(it, below, a, f)) return false;
  }
  return true;
}

bool template_check(const struct json *template, struct arena *scratch, struct fault *f) {
  return check_below(template, STR(""), scratch, f);
}

struct filling {
  const struct json *data;
  struct arena *arena;
  struct logic_budget *budget;
  const char **why;
};

// If the expression is {"var": "PATH"} and the path leads to a value of the data, returns this value.
static const struct json *find_plain(const struct filling *f, const struct json *expression) {
  str path, head;
  const struct json *v = f->data;
  if (!json_key_is(expression->child, STR("var")) || !json_string(expression->child, f->arena, &path)) return NULL;
  while (v && path.n) {
    uint64_t index;
    str_cut(path, '.', &head, &path);
    v = v->type == JSON_OBJECT ? json_get(v, head) : str_to_u64(head, &index) ? json_at(v, index) : NULL;
  }
  return v;
}

static bool put(const struct filling *f, const struct json *v, struct json_writer *w) {
  if (is_expression(v, f->arena)) {
    const struct json *plain = find_plain(f, v);
    struct fault fault;
    if (plain) {
      json_put_raw(w, json_span(plain));
      return true;
    }
    const struct logic *l = logic_compile(f->arena, v, &fault);
    ASSERT(l);  // template_check has compiled it before
    return logic_put(l, f->data, f->arena, f->budget, w, f->why);
  }
  if (v->type != JSON_OBJECT && v->type != JSON_ARRAY) {
    json_put_raw(w, json_span(v));
    return true;
  }
  bool ok = true, named = v->type == JSON_OBJECT;
  if (named) json_begin_object(w);
  else json_begin_array(w);
  for (const struct json *it = json_first(v); it && ok; it = it->next) {
    if (named) json_put_key(w, json_key(it, f->arena));
    ok = put(f, it, w);
  }
  if (named) json_end_object(w);
  else json_end_array(w);
  return ok;
}

bool template_put(const struct json *template, const struct json *data, struct arena *scratch,
                  struct logic_budget *budget, struct json_writer *w, const char **out_why) {
  return put(&(struct filling){data, scratch, budget, out_why}, template, w);
}

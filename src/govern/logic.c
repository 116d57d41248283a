// SPDX-License-Identifier: Apache-2.0
// Compiles JsonLogic, and evaluates compiled expressions.
#include "govern/logic.h"

#include "base/assert.h"
#include "base/buf.h"
#include "govern/logic_impl.h"
#include "json/pointer.h"

// ---- compilation

// The path to a part of an expression, for error messages: a list from the part up to the whole expression.
struct place {
  const struct place *above;
  const struct json *member;  // NULL if the part is element `index` of an array
  size_t index;
  unsigned depth;
};

struct compiler {
  struct arena *arena;
  struct fault *fault;
  size_t nodes;
};

static void put_place(struct buf *out, const struct place *at, struct arena *a) {
  if (!at->above) return;
  put_place(out, at->above, a);
  if (at->member) json_pointer_push(out, json_key(at->member, a));
  else buf_printf(out, "/%zu", at->index);
}

// Sets the path of the fault to the place `at`. Always returns false.
static bool fail(struct compiler *c, const struct place *at) {
  struct buf b;
  buf_init(&b, 1 << 16);
  put_place(&b, at, c->arena);
  fault_set_path(c->fault, buf_view(&b));
  buf_done(&b);
  return false;
}

static bool compile(struct compiler *c, const struct json *v, const struct place *at, struct logic_node *out);

static const struct logic_node *compile_all(struct compiler *c, const struct json *array, const struct place *at) {
  struct logic_node *nodes = ARENA_ARRAY(c->arena, struct logic_node, array->count);
  struct place below = {.above = at, .depth = at->depth + 1};
  JSON_EACH(it, array) {
    if (!compile(c, it, &below, &nodes[below.index])) return NULL;
    below.index++;
  }
  return nodes;
}

// Compiles {"operator": operands}. A single operand may be written without an array.
static bool compile_operator(struct compiler *c, const struct json *v, const struct place *at, struct logic_node *out) {
  const struct json *operands = v->child;
  if (v->count != 1) {
    fault_set(c->fault, FAULT_INVALID, "an expression must be an object with exactly one operator");
    return fail(c, at);
  }
  struct place below = {.above = at, .member = operands, .depth = at->depth + 1};
  str name = json_key(operands, c->arena);
  out->op = logic_operator_find(name);
  if (!out->op) {
    fault_set(c->fault, FAULT_INVALID, "unknown operator \"%.*s\"", STR_ARG(name));
    return fail(c, &below);
  }
  out->count = operands->type == JSON_ARRAY ? operands->count : 1;
  if (out->count < out->op->min || out->count > out->op->max) {
    bool few = out->count < out->op->min;
    fault_set(c->fault, FAULT_INVALID, "operator \"%s\" needs at %s %u operands", out->op->name, few ? "least" : "most",
              few ? out->op->min : out->op->max);
    return fail(c, &below);
  }
  if (operands->type == JSON_ARRAY) return (out->args = compile_all(c, operands, &below)) != NULL;
  struct logic_node *only = ARENA_NEW(c->arena, struct logic_node);
  out->args = only;
  return compile(c, operands, &below, only);
}

static void compile_constant(struct compiler *c, const struct json *v, struct logic_node *out) {
  struct logic_budget unlimited = {SIZE_MAX, SIZE_MAX};
  struct logic_run r = {.arena = c->arena, .budget = &unlimited};
  out->constant = logic_value_of(&r, v);
  if (v->type == JSON_STRING) out->constant.text = arena_str(c->arena, out->constant.text);
}

static bool compile(struct compiler *c, const struct json *v, const struct place *at, struct logic_node *out) {
  if (at->depth > LOGIC_DEPTH_MAX || c->nodes == LOGIC_NODES_MAX) {
    fault_set(c->fault, FAULT_LIMIT, "the expression is too %s", at->depth > LOGIC_DEPTH_MAX ? "deep" : "large");
    return fail(c, at);
  }
  c->nodes++;
  if (v->type == JSON_OBJECT) return compile_operator(c, v, at, out);
  if (v->type != JSON_ARRAY) {
    compile_constant(c, v, out);
    return true;
  }
  out->list = true;
  out->count = v->count;
  return (out->args = compile_all(c, v, at)) != NULL;
}

const struct logic *logic_compile(struct arena *a, const struct json *source, struct fault *f) {
  struct compiler c = {.arena = a, .fault = f};
  struct logic *l = ARENA_NEW(a, struct logic);
  return compile(&c, source, &(struct place){0}, &l->root) ? l : NULL;
}

// ---- evaluation

enum { FEW = 4 };  // the values of up to this many operands are stored on the stack

static struct logic_value eval_list(struct logic_run *r, const struct logic_node *node,
                                    const struct logic_value *data) {
  struct logic_list *list = logic_list_new(r, node->count);
  if (!list) return logic_null();
  for (size_t i = 0; i < node->count; i++) list->items[i] = logic_eval(r, &node->args[i], data);
  list->count = node->count;
  return (struct logic_value){.type = LOGIC_LIST, .list = list};
}

struct logic_value logic_eval(struct logic_run *r, const struct logic_node *node, const struct logic_value *data) {
  struct logic_value few[FEW], *args = few;
  if (!logic_spend(r, 1)) return logic_null();
  if (node->list) return eval_list(r, node, data);
  if (!node->op) return node->constant;
  if (node->op->lazy) return node->op->lazy(r, data, node);
  if (node->count > FEW) args = logic_take(r, node->count * sizeof *args);
  if (!args) return logic_null();
  for (size_t i = 0; i < node->count; i++) args[i] = logic_eval(r, &node->args[i], data);
  return r->why ? logic_null() : node->op->eager(r, data, args, node->count);
}

enum logic_verdict logic_test(const struct logic *l, const struct json *data, struct arena *scratch,
                              struct logic_budget *budget, const char **out_why) {
  struct logic_run r = {.arena = scratch, .budget = budget};
  struct logic_value root = logic_value_of(&r, data), result = logic_eval(&r, &l->root, &root);
  if (!r.why) return logic_truthy(&result) ? LOGIC_TRUE : LOGIC_FALSE;
  *out_why = r.why;
  return LOGIC_ERROR;
}

// ---- what an expression reads

struct visit {
  logic_on_path *on_path;
  void *ctx;
};

// Visits the paths in an operand of `var` or `missing`: a path, or a list of paths.
static bool visit_path(const struct visit *v, const struct logic_node *path) {
  if (path->op) return v->on_path(v->ctx, STR_NONE);
  for (size_t i = 0; path->list && i < path->count; i++)
    if (visit_path(v, &path->args[i])) return true;
  if (path->list || path->constant.type == LOGIC_BOOL || path->constant.type == LOGIC_NUMBER) return false;
  return v->on_path(v->ctx, path->constant.type == LOGIC_STRING ? path->constant.text : STR(""));
}

static bool is_operator(const struct logic_node *node, const char *const *names) {
  for (; node->op && *names; names++)
    if (strcmp(node->op->name, *names) == 0) return true;
  return false;
}

// Visits what an operator reads by itself. Without operands, it reads the whole data.
static bool visit_operator(const struct visit *v, const struct logic_node *node) {
  size_t paths = strcmp(node->op->name, "var") == 0 && node->count ? 1 : node->count;
  if (!node->count) return v->on_path(v->ctx, STR(""));
  for (size_t i = 0; i < paths; i++)
    if (visit_path(v, &node->args[i])) return true;
  return false;
}

// `inside`: the data of this part is not that of the whole expression, but an element of an array.
static bool visit(const struct visit *v, const struct logic_node *node, bool inside) {
  static const char *const readers[] = {"var", "missing", "missing_some", NULL};
  static const char *const loops[] = {"map", "filter", "reduce", "all", "none", "some", NULL};
  bool loop = is_operator(node, loops);
  if (!inside && is_operator(node, readers) && visit_operator(v, node)) return true;
  for (size_t i = 0; (node->op || node->list) && i < node->count; i++)
    if (visit(v, &node->args[i], inside || (loop && i == 1))) return true;
  return false;
}

bool logic_each_path(const struct logic *l, logic_on_path *on_path, void *ctx) {
  struct visit v = {on_path, ctx};
  return visit(&v, &l->root, false);
}

static bool may_lead(void *ctx, str path) {
  const str *member = ctx;
  str first, rest;
  if (!path.n) return true;
  str_cut(path, '.', &first, &rest);
  return str_eq(first, *member);
}

bool logic_may_read(const struct logic *l, str member) {
  return logic_each_path(l, may_lead, &member);
}

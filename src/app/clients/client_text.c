// SPDX-License-Identifier: Apache-2.0
#include "app/clients/client_text.h"

#include "base/ascii.h"
#include "base/buf.h"

enum { MOST_TEXT = 2 << 20 };  // maximum bytes of a string after its variables are replaced

void client_text_note(struct client_text *t, str line) {
  struct client_entry *e = t->entry;
  ASSERT(e->note_count <= CLIENT_MOST_NOTES);
  for (size_t i = 0; i < e->note_count; i++)
    if (str_eq(e->notes[i], line)) return;
  char *copy = arena_cstr(t->arena, line);
  str_mask_controls(copy, line.n);
  if (e->note_count < CLIENT_MOST_NOTES) e->notes[e->note_count++] = (str){copy, line.n};
}

static bool is_name_char(char c, bool first) {
  return c == '_' || ascii_is_letter(c) || (!first && ascii_is_digit(c));
}

static size_t name_length(str s) {
  size_t n = 0;
  while (n < s.n && is_name_char(s.p[n], n == 0)) n++;
  return n;
}

// Replaces ${input:id}, a value for which an editor would prompt its user, with the environment variable ${ID}.
static void put_input(struct client_text *t, struct buf *out, str id) {
  char *name = arena_cstr(t->arena, id);
  for (size_t i = 0; i < id.n; i++) {
    char c = name[i];
    name[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : is_name_char(c, i == 0) ? c : '_');
  }
  buf_printf(out, "${%s}", name);
  client_text_note(t, arena_printf(t->arena,
                                   "${input:%.*s} is not supported: set the variable %s in the environment of "
                                   "Toolgate instead",
                                   STR_ARG(id), name));
}

static bool put_folder(struct client_text *t, struct buf *out, str variable) {
  bool base = str_eq(variable, STR("workspaceFolderBasename"));
  if (!base && !str_eq(variable, STR("workspaceFolder")) && !str_eq(variable, STR("workspaceRoot"))) return false;
  if (!t->folder.n) {
    client_text_note(t, STR("${workspaceFolder} is only supported in a project: write the folder instead"));
    return false;
  }
  buf_str(out, base ? str_base_name(t->folder) : t->folder);
  return true;
}

// Rewrites the variable between "${" and "}". Returns false if the variable stays unchanged.
static bool put_variable(struct client_text *t, struct buf *out, str variable) {
  static const str env = STR("env:"), input = STR("input:");
  if (str_starts(variable, env)) buf_printf(out, "${%.*s}", STR_ARG(str_from(variable, env.n)));
  else if (str_starts(variable, input)) put_input(t, out, str_from(variable, input.n));
  else if (str_eq(variable, STR("userHome"))) buf_str(out, t->home);
  else if (str_eq(variable, STR("pathSeparator")) || str_eq(variable, STR("/"))) buf_char(out, '/');
  else return put_folder(t, out, variable);
  return true;
}

// Rewrites a reference to a variable at the start of `s`. Returns the length of the reference, or 0.
static size_t put_reference(struct client_text *t, struct buf *out, str s) {
  ASSERT(s.n > 0);
  str inside, tail;
  if (str_starts(s, STR("${"))) {
    if (!str_cut(str_from(s, 2), '}', &inside, &tail)) return 0;
    return put_variable(t, out, inside) ? inside.n + 3 : 0;
  }
  if (t->client == CLIENT_OPENCODE && str_starts(s, STR("{env:"))) {
    if (!str_cut(str_from(s, 5), '}', &inside, &tail)) return 0;
    buf_printf(out, "${%.*s}", STR_ARG(inside));
    return inside.n + 6;
  }
  if (t->client == CLIENT_OPENCODE && str_starts(s, STR("{file:")))
    client_text_note(t, STR("{file:…} is not read: put the value into a variable, ${NAME}"));
  size_t n = t->client == CLIENT_GEMINI && s.p[0] == '$' ? name_length(str_from(s, 1)) : 0;
  if (!n) return 0;
  buf_printf(out, "${%.*s}", (int)n, s.p + 1);
  return n + 1;
}

str client_text_rewrite(struct client_text *t, str text) {
  struct buf b;
  buf_init(&b, MOST_TEXT);
  for (size_t at = 0, n; at < text.n; at += n ? n : 1) {
    n = put_reference(t, &b, str_from(text, at));
    ASSERT(n <= text.n - at);
    if (!n) buf_char(&b, text.p[at]);
  }
  if (b.over && !t->entry->why) t->entry->why = "a string of the entry is too large once its variables are replaced";
  str out = arena_str(t->arena, buf_view(&b));
  buf_done(&b);
  return out;
}

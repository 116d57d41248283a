// SPDX-License-Identifier: Apache-2.0
// notes: a notebook as an MCP server, with tools, resources that can be subscribed to, and a prompt.
// Notes live in memory, as long as the server runs.
#include "base/list.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "server.h"

enum { MAX_NOTES = 1000, MAX_TEXT = 64 << 10, MAX_ALL = 64 << 20, TITLE_BYTES = 60 };

struct note {
  struct list node;
  int64_t id;
  struct buf text;
  bool subscribed;
};

struct notebook {
  struct list notes;
  size_t count;
  int64_t last_id;
};

static struct note *note_of(struct list *node) {
  return CONTAINER_OF(node, struct note, node);
}

static struct note *find_note(struct notebook *book, int64_t id) {
  LIST_EACH(it, &book->notes) {
    if (note_of(it)->id == id) return note_of(it);
  }
  return NULL;
}

static struct note *append_note(struct notebook *book, str text) {
  struct note *n = MEM_NEW(struct note);
  n->id = ++book->last_id;
  buf_init(&n->text, MAX_TEXT);
  buf_str(&n->text, text);
  list_push(&book->notes, &n->node);
  book->count++;
  return n;
}

static void remove_note(struct notebook *book, struct note *n) {
  list_remove(&n->node);
  buf_done(&n->text);
  mem_free(n);
  book->count--;
}

static bool note_has(const struct note *n, str needle) {
  return needle.n == 0 || memmem(n->text.p, n->text.n, needle.p, needle.n);
}

static str note_uri(const struct note *n, struct arena *arena) {
  return arena_printf(arena, "note://%lld", (long long)n->id);
}

// The first line, cut between two characters.
static str note_title(const struct note *n) {
  str head, tail;
  str_cut(buf_view(&n->text), '\n', &head, &tail);
  size_t k = 0, step;
  while (k < head.n && k < TITLE_BYTES && (step = utf8_char(head.p + k, head.n - k))) k += step;
  return (str){head.p, k};
}

// ---- tools ----

// The note that the argument `id` names; NULL after tool_fail.
static struct note *argument_note(struct request *r, const struct json *arguments) {
  int64_t id;
  if (!tool_int(r, arguments, "id", &id)) return NULL;
  struct note *n = find_note(r->state, id);
  if (!n) tool_fail(r, "There is no note %lld.", (long long)id);
  return n;
}

static void run_add(struct request *r, const struct json *arguments) {
  struct notebook *book = r->state;
  str text;
  if (!tool_string(r, arguments, "text", &text)) return;
  if (text.n == 0 || text.n > MAX_TEXT) return tool_fail(r, "A note has 1 to %d bytes.", MAX_TEXT);
  if (book->count == MAX_NOTES) return tool_fail(r, "The notebook is full (%d notes).", MAX_NOTES);
  const struct note *n = append_note(book, text);
  request_notify(r, "notifications/resources/list_changed", STR_NONE);
  tool_text(r, arena_printf(r->arena, "Added note %lld.", (long long)n->id));
}

static void run_append(struct request *r, const struct json *arguments) {
  str text;
  struct note *n = argument_note(r, arguments);
  if (!n || !tool_string(r, arguments, "text", &text)) return;
  if (text.n >= MAX_TEXT - n->text.n) return tool_fail(r, "The note would have more than %d bytes.", MAX_TEXT);
  buf_char(&n->text, '\n');
  buf_str(&n->text, text);
  if (n->subscribed)
    request_notify(r, "notifications/resources/updated",
                   arena_printf(r->arena, "{\"uri\":\"note://%lld\"}", (long long)n->id));
  tool_text(r, arena_printf(r->arena, "Note %lld has %zu bytes now.", (long long)n->id, n->text.n));
}

static void run_delete(struct request *r, const struct json *arguments) {
  struct note *n = argument_note(r, arguments);
  if (!n) return;
  str answer = arena_printf(r->arena, "Deleted note %lld.", (long long)n->id);
  remove_note(r->state, n);
  request_notify(r, "notifications/resources/list_changed", STR_NONE);
  tool_text(r, answer);
}

static void answer_notes(struct request *r, str needle) {
  struct notebook *book = r->state;
  struct buf found;
  buf_init(&found, MAX_ALL);
  struct json_writer w = json_writer(&found);
  json_begin_object(&w);
  json_put_key(&w, STR("notes"));
  json_begin_array(&w);
  LIST_EACH(it, &book->notes) {
    const struct note *n = note_of(it);
    if (!note_has(n, needle)) continue;
    json_begin_object(&w);
    json_put_key(&w, STR("id"));
    json_put_int(&w, n->id);
    put_text(&w, "text", buf_view(&n->text));
    json_end_object(&w);
  }
  json_end_array(&w);
  json_end_object(&w);
  tool_data(r, buf_view(&found));
  buf_done(&found);
}

static void run_list(struct request *r, const struct json *arguments) {
  answer_notes(r, STR_NONE);
}

static void run_search(struct request *r, const struct json *arguments) {
  str query;
  if (tool_string(r, arguments, "query", &query)) answer_notes(r, query);
}

#define ID "\"id\":{\"type\":\"integer\",\"minimum\":1}"
#define TEXT "\"text\":{\"type\":\"string\",\"minLength\":1}"
#define NOTES_SCHEMA \
  "{\"type\":\"object\",\"properties\":{\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":" \
  "{" ID "," TEXT "},\"required\":[\"id\",\"text\"]}}},\"required\":[\"notes\"]}"

static const struct tool tools[] = {
    {.name = "add_note",
     .description = "Adds a note. Its first line is its title.",
     .input_schema = "{\"type\":\"object\",\"properties\":{" TEXT "},\"required\":[\"text\"]}",
     .run = run_add},
    {.name = "append_note",
     .description = "Adds a line to the end of a note.",
     .input_schema = "{\"type\":\"object\",\"properties\":{" ID "," TEXT "},\"required\":[\"id\",\"text\"]}",
     .run = run_append},
    {.name = "list_notes",
     .description = "Gives all notes.",
     .input_schema = "{\"type\":\"object\"}",
     .output_schema = NOTES_SCHEMA,
     .read_only = true,
     .run = run_list},
    {.name = "search_notes",
     .description = "Gives the notes that contain a text exactly as it is written.",
     .input_schema = "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\"}},\"required\":[\"query\"]}",
     .output_schema = NOTES_SCHEMA,
     .read_only = true,
     .run = run_search},
    {.name = "delete_note",
     .description = "Deletes a note.",
     .input_schema = "{\"type\":\"object\",\"properties\":{" ID "},\"required\":[\"id\"]}",
     .run = run_delete},
};

// ---- resources ----

static void resources_list(struct request *r) {
  struct notebook *book = r->state;
  if (!request_first_page(r)) return;
  struct json_writer *w = &r->result;
  json_begin_object(w);
  json_put_key(w, STR("resources"));
  json_begin_array(w);
  LIST_EACH(it, &book->notes) {
    json_begin_object(w);
    put_text(w, "uri", note_uri(note_of(it), r->arena));
    put_text(w, "name", note_title(note_of(it)));
    put_text(w, "mimeType", STR("text/plain"));
    json_end_object(w);
  }
  json_end_array(w);
  json_end_object(w);
}

static void resources_templates(struct request *r) {
  if (!request_first_page(r)) return;
  json_put_raw(&r->result, STR("{\"resourceTemplates\":[{\"uriTemplate\":\"note://{id}\",\"name\":\"note\","
                               "\"description\":\"One note by its number\",\"mimeType\":\"text/plain\"}]}"));
}

// The note that params.uri names; NULL after request_fail.
static struct note *params_note(struct request *r) {
  uint64_t id;
  str uri;
  if (!request_string(r, "uri", &uri)) return NULL;
  bool named = str_starts(uri, STR("note://")) && str_to_u64(str_from(uri, 7), &id) && id <= INT64_MAX;
  struct note *n = named ? find_note(r->state, (int64_t)id) : NULL;
  if (!n) request_fail(r, RPC_RESOURCE_NOT_FOUND, "no such resource: %.*s", STR_ARG(uri));
  return n;
}

static void resources_read(struct request *r) {
  const struct note *n = params_note(r);
  if (!n) return;
  struct json_writer *w = &r->result;
  json_begin_object(w);
  json_put_key(w, STR("contents"));
  json_begin_array(w);
  json_begin_object(w);
  put_text(w, "uri", note_uri(n, r->arena));
  put_text(w, "mimeType", STR("text/plain"));
  put_text(w, "text", buf_view(&n->text));
  json_end_object(w);
  json_end_array(w);
  json_end_object(w);
}

static void set_subscribed(struct request *r, bool subscribed) {
  struct note *n = params_note(r);
  if (!n) return;
  n->subscribed = subscribed;
  json_put_raw(&r->result, STR("{}"));
}

static void resources_subscribe(struct request *r) {
  set_subscribed(r, true);
}

static void resources_unsubscribe(struct request *r) {
  set_subscribed(r, false);
}

// ---- the prompt ----

static void prompts_list(struct request *r) {
  if (!request_first_page(r)) return;
  json_put_raw(&r->result,
               STR("{\"prompts\":[{\"name\":\"summarize_notes\",\"description\":\"Asks for a summary of the notes\","
                   "\"arguments\":[{\"name\":\"topic\",\"description\":\"Only notes that contain this text\","
                   "\"required\":false}]}]}"));
}

static void prompts_get(struct request *r) {
  struct notebook *book = r->state;
  str name, topic = STR_NONE;
  if (!request_string(r, "name", &name)) return;
  if (!str_eq(name, STR("summarize_notes")))
    return request_fail(r, RPC_INVALID_PARAMS, "unknown prompt: %.*s", STR_ARG(name));
  json_string(json_get(json_get(r->params, STR("arguments")), STR("topic")), r->arena, &topic);
  struct buf text;
  buf_init(&text, MAX_ALL);
  buf_str(&text, STR("Summarize these notes in a few sentences:\n"));
  LIST_EACH(it, &book->notes) {
    const struct note *n = note_of(it);
    if (note_has(n, topic)) buf_printf(&text, "\nNote %lld:\n%.*s\n", (long long)n->id, STR_ARG(buf_view(&n->text)));
  }
  struct json_writer *w = &r->result;
  json_put_raw(w, STR("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"));
  json_escape(w->out, buf_view(&text));
  buf_str(w->out, STR("}}]}"));
  buf_done(&text);
}

static const struct method methods[] = {
    {"resources/list", resources_list},
    {"resources/templates/list", resources_templates},
    {"resources/read", resources_read},
    {"resources/subscribe", resources_subscribe},
    {"resources/unsubscribe", resources_unsubscribe},
    {"prompts/list", prompts_list},
    {"prompts/get", prompts_get},
};

int main(void) {
  struct notebook book = {0};
  list_init(&book.notes);
  append_note(&book, STR("Welcome\nThis note came through the gateway."));
  append_note(&book, STR("Things to try\nadd_note, then read the note back as the resource note://3"));
  struct server s = {
      .name = "notes",
      .instructions = "A notebook. Every note is also a resource, note://ID.",
      .capabilities = "{\"tools\":{},\"resources\":{\"subscribe\":true,\"listChanged\":true},\"prompts\":{}}",
      .tools = tools,
      .tool_count = sizeof tools / sizeof *tools,
      .methods = methods,
      .method_count = sizeof methods / sizeof *methods,
      .state = &book,
  };
  int status = server_run(&s);
  while (!list_empty(&book.notes)) remove_note(&book, note_of(book.notes.next));
  return status;
}

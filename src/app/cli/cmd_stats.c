// SPDX-License-Identifier: Apache-2.0
// The command stats: measures the tokens that tools take in the context of a client. All numbers are exact: they are
// counted in the texts that clients receive.
#include <stdio.h>
#include <stdlib.h>

#include "app/cli/stats_governance.h"
#include "app/gateway_client/inventory.h"
#include "result/envelope/envelope.h"
#include "text/tokens.h"

static const struct command command = {
    .usage = "[options]",
    .about = "Prints the cost of the servers' tools in tokens (cl100k_base): for tools/list in\n"
             "direct mode, for the names and descriptions alone, and for gateway mode, where a client\n"
             "gets the meta-tools and the answer of one browse. For that answer, the command sends\n"
             "eight queries made of names of tools, and counts the longest answer of ten cards. A\n"
             "table shows how much of this each known client passes to its model.",
    .options = "cmuCWjY*",
};

enum { QUERIES = 8, CARDS = 10, MAX_TEXT = 1 << 30, LABEL = 24, NARROWEST = 40, WIDEST = 400, COLUMNS = 80 };

// Numbers of tokens that the model of one client receives for a browse result, and for a tool result with text and
// structuredContent.
struct client_cost {
  const struct client_row *row;  // NULL stands for all unknown clients
  size_t browse, result;
};

struct figures {
  size_t tools;
  size_t listing;       // tokens of tools/list in direct mode
  size_t descriptions;  // tokens of names and descriptions
  size_t meta_tools;    // tokens of tools/list in gateway mode
  size_t meta_count;
  size_t browse, browse_sum, browses;  // browse answers: tokens of the longest, tokens of all, and their number
  const struct json *longest;          // result of the longest browse, with structuredContent
  struct client_cost *clients;         // one for each known client, and one for all others
};

// ---- measuring

static size_t count_tools(const struct json *listed) {
  const struct json *tools = json_get(listed, STR("tools"));
  return json_is(tools, JSON_ARRAY) ? tools->count : 0;
}

enum { ALL_SERVERS = -1 };

// Returns the number of tokens of the lines "name: description" for all tools of one server, or of ALL_SERVERS.
static size_t weigh_descriptions(const struct inventory *i, int source) {
  const struct kind_index *kind_index = &i->directory->kind_indexes[DIRECTORY_TOOLS];
  struct buf text;
  struct arena a;
  buf_init(&text, MAX_TEXT);
  arena_init(&a);
  for (size_t k = 0; k < kind_index->count; k++) {
    const struct item *item = kind_index->entries[k].item;
    struct fault f;
    str description = STR_NONE;
    if (source != ALL_SERVERS && (int)item->source != source) continue;
    const struct json *definition = json_parse(&a, item->text, &json_default_limits, &f);
    json_string(json_get(definition, STR("description")), &a, &description);
    buf_str(&text, item->shown);
    buf_str(&text, STR(": "));
    buf_str(&text, description);
    buf_char(&text, '\n');
    arena_reset(&a);
  }
  size_t tokens = tokens_count(buf_view(&text));
  arena_done(&a);
  buf_done(&text);
  return tokens;
}

// Appends the arguments of a browse call. The query consists of the words of a tool's name.
static void put_query(struct buf *out, str name) {
  struct json_writer w = json_writer(out);
  char words[256];
  size_t n = name.n < sizeof words ? name.n : sizeof words;
  for (size_t i = 0; i < n; i++) words[i] = strchr("_-./:", name.p[i]) && name.p[i] ? ' ' : name.p[i];
  json_begin_object(&w);
  json_member_str(&w, STR("query"), (str){words, n});
  json_member_u64(&w, STR("top_k"), CARDS);
  json_end_object(&w);
}

static bool weigh_browse(struct gateway_client *client, str name, struct figures *out, struct fault *f) {
  struct buf query;
  str text = STR_NONE;
  buf_init(&query, 4096);
  put_query(&query, name);
  const struct json *result = gateway_client_call_tool(client, STR("tool_browse"), buf_view(&query), STR_NONE, f);
  buf_done(&query);
  if (!result) return false;
  json_string(json_get(json_at(json_get(result, STR("content")), 0), STR("text")), &client->arena, &text);
  size_t tokens = tokens_count(text);
  if (tokens > out->browse) {
    out->browse = tokens;
    out->longest = result;
  }
  ASSERT(out->browses < QUERIES);
  out->browse_sum += tokens;
  out->browses++;
  return true;
}

// ---- by client

// Makes a typical result: ten records, as indented JSON text and as structuredContent.
static const struct json *sample_result(struct arena *a) {
  enum { RECORDS = 10 };
  struct buf value, text;
  struct fault f;
  buf_init(&value, 1 << 14);
  buf_init(&text, 1 << 14);
  for (int i = 1; i <= RECORDS; i++) {
    buf_printf(&value, "%s{\"number\":%d,\"title\":\"Crash %d when saving\",\"state\":\"open\"}", i > 1 ? "," : "", i,
               i);
    buf_printf(
        &text,
        "%s    {\n      \"number\": %d,\n      \"title\": \"Crash %d when saving\",\n      \"state\": \"open\"\n    }",
        i > 1 ? ",\n" : "", i, i);
  }
  str shown = json_escaped(a, arena_printf(a, "{\n  \"items\": [\n%.*s\n  ]\n}", STR_ARG(buf_view(&text))));
  str result =
      arena_printf(a, "{\"content\":[{\"type\":\"text\",\"text\":%.*s}],\"structuredContent\":{\"items\":[%.*s]}}",
                   STR_ARG(shown), STR_ARG(buf_view(&value)));
  ASSERT(!value.over && !text.over);
  buf_done(&value);
  buf_done(&text);
  const struct json *sample = json_parse(a, result, &json_default_limits, &f);
  ASSERT(sample);
  return sample;
}

// Returns a tool's result as the client receives it. The pieces of a cut result are not stored.
static const struct json *sent_result(struct gateway_client *client, struct store *store, const struct json *result,
                                      const struct client_form *form) {
  struct piece_batch *batch = NULL;
  struct envelope_order order = {
      .result = result,
      .tool_id = STR("sample"),
      .owner = STR("stats"),
      .store = store,
      .batch = &batch,
      .budget = client->config.result_tokens,
      .text_only = !form->structured,
      .reads = form->reads,
  };
  struct buf out;
  struct fault f;
  buf_init(&out, MAX_TEXT);
  envelope_make(&order, &client->arena, &out);
  const struct json *sent =
      json_parse(&client->arena, arena_str(&client->arena, buf_view(&out)), &json_default_limits, &f);
  ASSERT(sent);  // cannot be NULL: an envelope is valid JSON
  buf_done(&out);
  piece_batch_free(&batch);
  return sent;
}

static void weigh_clients(struct gateway_client *client, struct figures *x) {
  struct arena *a = &client->arena;
  const struct json *sample = sample_result(a);
  static const struct json_edit text_alone = {STR("structuredContent"), STR_NONE};
  struct store_options in_memory = {.clock = &clock_system, .rand = &rand_system, .limits = store_default_limits};
  struct store *store = store_new(&in_memory);
  struct fault f;
  x->clients = ARENA_ARRAY(a, struct client_cost, clients_known_count + 1);
  for (size_t i = 0; i <= clients_known_count; i++) {
    const struct client_row *row = i < clients_known_count ? &clients_known[i] : NULL;
    struct client_form form = client_form_of(row, client->config.structured);
    const struct json *browse = x->longest;
    if (browse && !form.structured)
      browse = json_parse(a, json_edited(a, browse, &text_alone, 1), &json_default_limits, &f);
    x->clients[i] = (struct client_cost){
        row,
        browse ? tokens_count(client_shown(row, browse, a)) : 0,
        tokens_count(client_shown(row, sent_result(client, store, sample, &form), a)),
    };
  }
  store_close(&store, NULL, NULL);
}

static bool measure(struct gateway_client *client, const struct inventory *i, struct figures *out, struct fault *f) {
  const struct kind_index *kind_index = &i->directory->kind_indexes[DIRECTORY_TOOLS];
  *out = (struct figures){.tools = count_tools(i->tools)};
  out->listing = tokens_count(json_span(i->tools));
  out->descriptions = weigh_descriptions(i, ALL_SERVERS);
  gateway_client_set_mode(client, MODE_GATEWAY);
  const struct json *listed = gateway_client_request(client, STR("tools/list"), STR("{}"), f);
  if (!listed) return false;
  out->meta_tools = tokens_count(json_span(listed));
  out->meta_count = count_tools(listed);
  // Takes tools at equal distances in the list, so that the queries cover all servers.
  size_t queries = kind_index->count < QUERIES ? kind_index->count : QUERIES;
  for (size_t k = 0; k < queries; k++)
    if (!weigh_browse(client, kind_index->entries[k * kind_index->count / queries].item->name, out, f)) return false;
  weigh_clients(client, out);
  return true;
}

// ---- text

static size_t columns(void) {
  uint64_t n;
  if (!str_to_u64(str_of(getenv("COLUMNS")), &n)) return COLUMNS;
  return n < NARROWEST ? NARROWEST : n > WIDEST ? WIDEST : (size_t)n;
}

struct chart {
  size_t width;  // width of the longest bar, in columns
  size_t largest;
};

static void put_bar(struct buf *out, const struct chart *c, str label, size_t tokens) {
  if (label.n > LABEL) label.n = LABEL;
  size_t n = c->largest ? tokens * c->width / c->largest : 0;
  if (!n && tokens) n = 1;
  buf_printf(out, "  %-*.*s %9zu%s", LABEL, STR_ARG(label), tokens, n ? "  " : "");
  while (n--) buf_char(out, '#');
  buf_char(out, '\n');
}

static void put_advice(struct buf *out, const struct figures *x, size_t through) {
  if (through > x->listing) {
    buf_printf(out,
               "\nThese servers are small: gateway mode costs %zu tokens more than direct mode.\n"
               "Use mode: direct for them.\n",
               through - x->listing);
    return;
  }
  buf_printf(out, "\nIn gateway mode the tools take %zu tokens of a client's context instead of %zu", through,
             x->listing);
  if (x->listing) buf_printf(out, ": %.1f %% less", (double)(x->listing - through) * 100 / (double)x->listing);
  buf_str(out, STR(".\n"));
}

static void put_clients(struct buf *out, const struct figures *x) {
  buf_printf(out, "\nwhat reaches the model, by client\n  %-*s %11s %9s %9s\n", LABEL + 4, "", "definitions",
             "a browse", "a result");
  for (size_t i = 0; i <= clients_known_count; i++) {
    const struct client_cost *c = &x->clients[i];
    buf_printf(out, "  %-*s %11zu %9zu %9zu\n", LABEL + 4, c->row ? c->row->title : "others", x->meta_tools, c->browse,
               c->result);
  }
}

static void put_text(struct buf *out, const struct inventory *i, const struct figures *x) {
  size_t through = x->meta_tools + x->browse, largest = x->listing > through ? x->listing : through;
  struct chart c = {columns() - (LABEL + 14), largest};
  buf_printf(out, "tokens of %zu tool%s of %zu server%s\n", x->tools, x->tools == 1 ? "" : "s", i->server_count,
             i->server_count == 1 ? "" : "s");
  put_bar(out, &c, STR("all definitions"), x->listing);
  put_bar(out, &c, STR("names and descriptions"), x->descriptions);
  put_bar(out, &c, STR("through Toolgate"), through);
  buf_printf(out, "    %zu meta-tools %zu, a browse %zu (%zu on average)\n\n", x->meta_count, x->meta_tools, x->browse,
             x->browses ? x->browse_sum / x->browses : 0);
  buf_str(out, STR("all definitions, by server\n"));
  c.largest = 0;
  for (size_t k = 0; k < i->server_count; k++)
    if (i->servers[k].tool_tokens > c.largest) c.largest = i->servers[k].tool_tokens;
  for (size_t k = 0; k < i->server_count; k++) {
    put_bar(out, &c, i->servers[k].name, i->servers[k].tool_tokens);
    if (i->servers[k].error) buf_printf(out, "    not available: %s\n", i->servers[k].error);
  }
  if (x->tools) put_advice(out, x, through);
  put_clients(out, x);
}

// ---- JSON

static void put_servers(struct json_writer *w, const struct inventory *i) {
  json_put_key(w, STR("servers"));
  json_begin_array(w);
  for (size_t k = 0; k < i->server_count; k++) {
    json_begin_object(w);
    inventory_put_server(w, &i->servers[k]);
    json_member_u64(w, STR("names_and_descriptions"), weigh_descriptions(i, (int)k));
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_client_figures(struct json_writer *w, const struct figures *x) {
  static const char *const reads[] = {"unknown", "text", "structured", "both"};
  json_put_key(w, STR("clients"));
  json_begin_array(w);
  for (size_t i = 0; i <= clients_known_count; i++) {
    const struct client_cost *c = &x->clients[i];
    ASSERT(!c->row || (size_t)c->row->reads < sizeof reads / sizeof *reads);
    json_begin_object(w);
    json_member_str(w, STR("client"), str_of(c->row ? c->row->title : "others"));
    if (c->row) json_member_str(w, STR("name"), str_of(c->row->name));
    json_member_str(w, STR("reads"), str_of(reads[c->row ? c->row->reads : CLIENT_READS_UNKNOWN]));
    json_member_u64(w, STR("definitions"), x->meta_tools);
    json_member_u64(w, STR("browse"), c->browse);
    json_member_u64(w, STR("result"), c->result);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_json(struct buf *out, const struct inventory *i, const struct figures *x) {
  size_t through = x->meta_tools + x->browse;
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_put_key(&w, STR("direct"));
  json_begin_object(&w);
  json_member_u64(&w, STR("tools"), x->tools);
  json_member_u64(&w, STR("tokens"), x->listing);
  json_member_u64(&w, STR("names_and_descriptions"), x->descriptions);
  json_end_object(&w);
  json_put_key(&w, STR("gateway"));
  json_begin_object(&w);
  json_member_u64(&w, STR("tools"), x->meta_count);
  json_member_u64(&w, STR("tokens"), through);
  json_member_u64(&w, STR("meta_tools"), x->meta_tools);
  json_member_u64(&w, STR("browse"), x->browse);
  json_member_u64(&w, STR("browse_average"), x->browses ? x->browse_sum / x->browses : 0);
  json_member_u64(&w, STR("queries"), x->browses);
  json_end_object(&w);
  if (x->tools) json_member_str(&w, STR("advice"), through > x->listing ? STR("direct") : STR("gateway"));
  put_client_figures(&w, x);
  put_servers(&w, i);
  json_end_object(&w);
  buf_char(out, '\n');
}

static int stats(struct gateway_client *client, const struct inventory *i, bool json) {
  struct figures x;
  struct fault f;
  struct buf out;
  if (!measure(client, i, &x, &f)) {
    return command_failed(&f, EXIT_CANNOT);
  }
  buf_init(&out, MAX_TEXT);
  if (json) put_json(&out, i, &x);
  else put_text(&out, i, &x);
  command_print_done(&out);
  return inventory_complete(i) ? EXIT_OK : EXIT_NO;
}

int cmd_stats(int argc, char **argv) {
  struct arguments args = {0};
  struct gateway_client client;
  struct inventory i;
  struct fault f;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (args.count_governed) return stats_governance(&args);
  if (!gateway_client_open(&client, &args.config, &status)) return status;
  // Starts the servers of `gateway` mode now, although that mode is used only later: they start while inventory_take
  // waits for the servers of direct mode.
  gateway_client_set_mode(&client, MODE_GATEWAY);
  if (inventory_take(&client, &i, &f)) {
    status = stats(&client, &i, args.json);
    inventory_done(&i);
  } else {
    status = command_failed(&f, EXIT_CANNOT);
  }
  gateway_client_close(&client);
  return status;
}

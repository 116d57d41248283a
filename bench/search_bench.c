// SPDX-License-Identifier: Apache-2.0
// How long it takes to analyse tools, to build an index and to search it, and how much memory that takes.
//
//   search_bench tools.jsonl queries.jsonl
//
// First the search alone, then all that a browse needs and does: ids, paths and search for the catalog, then for each
// query the search, the cards of the best ten, and the answer as text and as JSON. Then the same for somebody who may
// not see every tenth tool of each server; "sight" is what the first query of that takes.
//
// Times are CPU time. Catalogs of 10 000 and 100 000 tools are made from those of the file, repeated with other names.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "catalog/directory/directory.h"
#include "text/search/search_doc.h"
#include "json/write.h"

enum { MOST_FILE_BYTES = 1 << 30, MOST_TOOLS = 100000, PART = 40, HITS = 10, MOST_SAMPLES = 4000 };

static const struct hash_key seed = {1, 2};

static double cpu_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);  // whatever else the machine does meanwhile
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void read_whole(const char *path, struct buf *out) {
  buf_init(out, MOST_FILE_BYTES);
  FILE *f = fopen(path, "rb");
  if (!f) {
    perror(path);
    exit(3);
  }
  for (size_t n = 1; n > 0; out->n += n) n = fread(buf_room(out, 1 << 16), 1, 1 << 16, f);
  fclose(f);
}

struct lines {
  struct buf text;
  struct arena arena;
  struct json **values;
  size_t count;
};

static void lines_read(struct lines *l, const char *path) {
  arena_init(&l->arena);
  l->values = mem_alloc(MOST_TOOLS * sizeof(struct json *));
  l->count = 0;
  read_whole(path, &l->text);
  str rest = buf_view(&l->text), line;
  for (bool more = true; more && l->count < MOST_TOOLS;) {
    struct fault f;
    more = str_cut(rest, '\n', &line, &rest);
    struct json *v = line.n ? json_parse(&l->arena, line, &json_default_limits, &f) : NULL;
    if (v) l->values[l->count++] = v;
  }
}

static str varied(struct arena *a, str s, size_t round, const char *between) {
  return round ? arena_printf(a, "%.*s%s%zu", STR_ARG(s), between, round) : s;
}

// Document i of a catalog: the tools of the file again and again, each round under other names and with a word of its
// own in each description.
static void make_doc(struct lines *tools, size_t i, struct arena *a, struct search_doc *out) {
  size_t round = i / tools->count;
  const struct json *tool = tools->values[i % tools->count];
  search_doc_from_tool(tool, a, out);
  json_string(json_get(tool, STR("id")), a, &out->id);
  out->id = varied(a, out->id, round, "~");
  out->fields[SEARCH_NAME] = varied(a, out->fields[SEARCH_NAME], round, "_v");
  out->fields[SEARCH_DESCRIPTION] = varied(a, out->fields[SEARCH_DESCRIPTION], round, " variant");
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef void one_query(void *ctx, const struct search_query *q);

static void time_queries(one_query *run, void *ctx, struct lines *queries, double *out_p50, double *out_p99) {
  static double took[MOST_SAMPLES];
  size_t n = 0;
  for (size_t i = 0; n < MOST_SAMPLES && i < 2 * queries->count; i++) {
    struct search_query q = {.top_k = HITS};
    json_string(json_get(queries->values[i % queries->count], STR("query")), &queries->arena, &q.text);
    double start = cpu_ms();
    run(ctx, &q);
    if (i >= queries->count) took[n++] = cpu_ms() - start;  // the first round warms up
  }
  qsort(took, n, sizeof *took, by_value);
  *out_p50 = took[n / 2];
  *out_p99 = took[n * 99 / 100];
}

// ---- the search

struct searching {
  const struct search_index *index;
  struct arena scratch;
};

static void search(void *ctx, const struct search_query *q) {
  struct searching *s = ctx;
  struct search_hit hits[HITS];
  search_run(s->index, q, &s->scratch, hits);
  arena_reset(&s->scratch);
}

static void measure(struct lines *tools, struct lines *queries, size_t count) {
  struct arena texts;
  arena_init(&texts);
  struct search_doc *docs = mem_alloc(count * sizeof *docs);
  for (size_t i = 0; i < count; i++) make_doc(tools, i, &texts, &docs[i]);
  size_t part_count = (count + PART - 1) / PART;
  struct search_part **parts = mem_alloc(part_count * sizeof(struct search_part *));
  double start = cpu_ms();
  for (size_t i = 0; i < part_count; i++) {
    size_t from = i * PART, n = count - from < PART ? count - from : PART;
    struct search_source source = {.server = arena_printf(&texts, "server%zu", i), .docs = docs + from, .count = n};
    parts[i] = search_part_new(&source, &seed);
  }
  double analysed = cpu_ms();
  struct search_index *x = search_index_new(parts, part_count, &seed);
  double built = cpu_ms(), p50, p99;
  struct searching searching = {.index = x};
  arena_init(&searching.scratch);
  time_queries(search, &searching, queries, &p50, &p99);
  arena_done(&searching.scratch);
  printf("%8zu  %8.0f ms  %8.0f ms  %8.1f MB  %8.3f ms  %8.3f ms\n", count, analysed - start, built - analysed,
         (double)search_index_bytes(x) / 1e6, p50, p99);
  for (size_t i = 0; i < part_count; i++) search_part_unref(&parts[i]);
  search_index_free(&x);
  mem_free(parts);
  mem_free(docs);
  arena_done(&texts);
}

// ---- the directory

static struct definitions *make_definitions(struct lines *tools, size_t from, size_t n, struct arena *a) {
  struct buf page;
  struct fault f;
  buf_init(&page, MOST_FILE_BYTES);
  buf_str(&page, STR("{\"tools\":["));
  for (size_t i = from; i < from + n; i++) {
    const struct json *tool = tools->values[i % tools->count];
    str name;
    json_string(json_get(tool, STR("name")), a, &name);
    name = arena_printf(a, "%.*s_%zu", STR_ARG(name), i);  // no two of a server may have one
    if (i > from) buf_char(&page, ',');
    json_copy_edited(&page, tool, &(struct json_edit){STR("name"), json_escaped(a, name)}, 1);
  }
  buf_str(&page, STR("]}"));
  struct definitions *r = definitions_new((struct definitions_origin){0});
  definitions_add_page(r, ITEM_TOOL, json_parse(a, buf_view(&page), &json_default_limits, &f));
  buf_done(&page);
  return r;
}

struct browsing {
  struct directory *directory;
  const uint64_t *visible;
  struct arena scratch;
  struct buf text, json;
};

static void browse(void *ctx, const struct search_query *q) {
  struct browsing *b = ctx;
  struct outlook o = directory_search(b->directory, DIRECTORY_TOOLS, b->visible);
  struct search_hit hits[HITS];
  struct card cards[HITS];
  size_t n = search_run(o.index, q, &b->scratch, hits);
  for (size_t i = 0; i < n; i++) cards[i] = *directory_card(b->directory, outlook_entry(&o, hits[i].doc));
  buf_reset(&b->text);
  buf_reset(&b->json);
  card_render_answer(CARD_TOOL, cards, n, true, &b->text);
  struct json_writer w = json_writer(&b->json);
  for (size_t i = 0; i < n; i++) card_write(&w, &cards[i]);
  arena_reset(&b->scratch);
}

// For somebody who sees less: its sight when it is first needed, then each query.
static void measure_visibility(struct browsing *b, struct lines *queries, size_t count) {
  uint64_t *visible = mem_zero((count / 64 + 1) * sizeof *visible);
  for (size_t i = 0; i < count; i++)
    if (i % 10) visible[i / 64] |= UINT64_C(1) << (i % 64);
  b->visible = visible;
  double start = cpu_ms(), p50, p99;
  directory_search(b->directory, DIRECTORY_TOOLS, visible);
  double made = cpu_ms();
  time_queries(browse, b, queries, &p50, &p99);
  printf("  %8.0f ms  %8.3f ms  %8.3f ms\n", made - start, p50, p99);
  mem_free(visible);
}

static void measure_directory(struct lines *tools, struct lines *queries, size_t count) {
  size_t servers = (count + PART - 1) / PART;
  struct arena a;
  arena_init(&a);
  struct catalog_source *sources = ARENA_ARRAY(&a, struct catalog_source, servers);
  struct definitions **definition_sets = ARENA_ARRAY(&a, struct definitions *, servers);
  for (size_t i = 0; i < servers; i++) {
    definition_sets[i] = make_definitions(tools, i * PART, count - i * PART < PART ? count - i * PART : PART, &a);
    sources[i] = (struct catalog_source){.server = arena_printf(&a, "server%zu", i), .version = i + 1};
    sources[i].definition_sets = (const struct definitions *const *)&definition_sets[i];
    sources[i].definitions_count = 1;
  }
  double start = cpu_ms();
  struct catalog *c = catalog_build(sources, servers, &(struct catalog_options){.generation = 1, .seed = &seed});
  double listed = cpu_ms();
  struct browsing b = {.directory =
                           directory_new(c, NULL, &(struct directory_options){&seed, &schema_default_options})};
  double built = cpu_ms(), p50, p99;
  sources[0].version = servers + 1;
  struct catalog *next = catalog_build(sources, servers, &(struct catalog_options){.generation = 2, .seed = &seed});
  double changed = cpu_ms();
  struct directory *renewed =
      directory_new(next, b.directory, &(struct directory_options){&seed, &schema_default_options});
  double swapped = cpu_ms();
  arena_init(&b.scratch);
  buf_init(&b.text, MOST_FILE_BYTES);
  buf_init(&b.json, MOST_FILE_BYTES);
  time_queries(browse, &b, queries, &p50, &p99);
  printf("%8zu  %8.0f ms  %8.0f ms  %8.0f ms  %8.3f ms  %8.3f ms", count, listed - start, built - listed,
         swapped - changed, p50, p99);
  measure_visibility(&b, queries, count);
  directory_unref(&renewed);
  directory_unref(&b.directory);
  catalog_unref(&next);
  catalog_unref(&c);
  for (size_t i = 0; i < servers; i++) definitions_free(&definition_sets[i]);
  buf_done(&b.text);
  buf_done(&b.json);
  arena_done(&b.scratch);
  arena_done(&a);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s tools.jsonl queries.jsonl\n", argv[0]);
    return 2;
  }
  struct lines tools, queries;
  lines_read(&tools, argv[1]);
  lines_read(&queries, argv[2]);
  if (!tools.count || !queries.count) {
    fprintf(stderr, "%s: nothing to read there\n", argv[0]);
    return 3;
  }
  printf("   tools      analyse         build      memory    search p50   search p99\n");
  measure(&tools, &queries, 1000);
  measure(&tools, &queries, 10000);
  measure(&tools, &queries, MOST_TOOLS);
  printf("\n   tools      catalog     directory   one changed   browse p50   browse p99"
         "        sight    in it p50    in it p99\n");
  measure_directory(&tools, &queries, 1000);
  measure_directory(&tools, &queries, 10000);
  measure_directory(&tools, &queries, MOST_TOOLS);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// How long it takes to analyse tools, to build an index and to search it, and how much memory that takes.
//
//   search_bench tools.jsonl queries.jsonl
//
// Times are CPU time. Catalogs of 10 000 and 100 000 tools are made from those of the file, repeated with other names.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "text/search_doc.h"

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

static void time_queries(const struct search_index *x, struct lines *queries, double *out_p50, double *out_p99) {
  static double took[MOST_SAMPLES];
  struct arena scratch;
  struct search_hit hits[HITS];
  size_t n = 0;
  arena_init(&scratch);
  for (size_t i = 0; n < MOST_SAMPLES && i < 2 * queries->count; i++) {
    struct search_query q = {.top_k = HITS};
    json_string(json_get(queries->values[i % queries->count], STR("query")), &queries->arena, &q.text);
    double start = cpu_ms();
    search_run(x, &q, &scratch, hits);
    arena_reset(&scratch);
    if (i >= queries->count) took[n++] = cpu_ms() - start;  // the first round warms up
  }
  arena_done(&scratch);
  qsort(took, n, sizeof *took, by_value);
  *out_p50 = took[n / 2];
  *out_p99 = took[n * 99 / 100];
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
  time_queries(x, queries, &p50, &p99);
  printf("%8zu  %8.0f ms  %8.0f ms  %8.1f MB  %8.3f ms  %8.3f ms\n", count, analysed - start, built - analysed,
         (double)search_index_bytes(x) / 1e6, p50, p99);
  for (size_t i = 0; i < part_count; i++) search_part_unref(&parts[i]);
  search_index_unref(&x);
  mem_free(parts);
  mem_free(docs);
  arena_done(&texts);
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
  return 0;
}

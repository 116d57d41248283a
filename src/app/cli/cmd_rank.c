// SPDX-License-Identifier: Apache-2.0
// The command rank: ranks the tools in one file for each query in another file, to measure the search.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "base/crypto/rand.h"
#include "base/map.h"
#include "base/mem.h"
#include "io/file.h"
#include "text/search/search_doc.h"
#include "json/write.h"

enum { MOST_FILE_BYTES = 1 << 30, MOST_LINE_BYTES = 1 << 20, DEFAULT_HITS = 20 };

static const char help[] = "usage: toolgate rank --tools FILE --queries FILE [--top-k N]\n\n"
                           "Ranks tools for queries and prints a line {\"id\", \"ranked\": [ids]} for each.\n\n"
                           "  --tools FILE    tool definitions, one JSON object per line; each also has\n"
                           "                  an id and optionally the name of its server\n"
                           "  --queries FILE  queries, one JSON object per line, with id and query\n"
                           "  --top-k N       number of ids for each query, 1 to 200 (default 20)\n";

struct rank_options {
  const char *tools, *queries;
  size_t top_k;
  bool help;
};

static bool parse_options(int argc, char **argv, struct rank_options *out) {
  static const struct option options[] = {{"tools", required_argument, NULL, 't'},
                                          {"queries", required_argument, NULL, 'q'},
                                          {"top-k", required_argument, NULL, 'k'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
  uint64_t n;
  for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
    switch (c) {
    case 't': out->tools = optarg; break;
    case 'q': out->queries = optarg; break;
    case 'h': out->help = true; return true;
    case 'k':
      if (!str_to_u64(str_of(optarg), &n) || !n || n > SEARCH_MOST_HITS) {
        fprintf(stderr, "%s: --top-k must be a number from 1 to %d\n", argv[0], SEARCH_MOST_HITS);
        return false;
      }
      out->top_k = n;
      break;
    default: return false;
    }
  }
  if (optind < argc) fprintf(stderr, "%s: unexpected argument '%s'\n", argv[0], argv[optind]);
  else if (!out->tools || !out->queries) fprintf(stderr, "%s: give --tools and --queries\n", argv[0]);
  return optind == argc && out->tools && out->queries;
}

// ---- files of lines ----

static bool read_whole(const char *path, struct buf *out) {
  struct fault f;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool ok = fd >= 0 && file_read(fd, MOST_FILE_BYTES, out, &f);
  if (fd < 0) fprintf(stderr, "toolgate: %s: cannot be read: %s\n", path, strerror(errno));
  else if (!ok) fprintf(stderr, "toolgate: %s: %s\n", path, f.message);
  if (fd >= 0) close(fd);
  return ok;
}

struct rank_lines {
  const char *path;
  struct buf text;
  struct arena arena;  // holds the memory of `values`
  struct json **values;
  size_t count, cap;
};

static void lines_done(struct rank_lines *l) {
  buf_done(&l->text);
  arena_done(&l->arena);
  mem_free(l->values);
}

static bool add_line(struct rank_lines *l, str line, size_t number) {
  struct fault f;
  struct json *v = json_parse(&l->arena, line, &json_default_limits, &f);
  if (v && !json_is(json_get(v, STR("id")), JSON_STRING)) {
    fault_set(&f, FAULT_INVALID, "the object needs a member \"id\" with a string");
    v = NULL;
  }
  if (!v) {
    fprintf(stderr, "toolgate: %s:%zu: %s\n", l->path, number, f.message);
    return false;
  }
  if (l->count == l->cap) {
    l->cap = l->cap ? l->cap * 2 : 256;
    l->values = mem_grow(l->values, l->cap * sizeof(struct json *));
  }
  l->values[l->count++] = v;
  return true;
}

static int lines_read(struct rank_lines *l, const char *path) {
  *l = (struct rank_lines){.path = path};
  arena_init(&l->arena);
  if (!read_whole(path, &l->text)) return EXIT_CANNOT;
  str rest = buf_view(&l->text), line;
  size_t number = 0;
  for (bool more = true; more;) {
    more = str_cut(rest, '\n', &line, &rest);
    number++;
    if (str_trim(line).n && !add_line(l, line, number)) return EXIT_NO;
  }
  return EXIT_OK;
}

static str member(struct rank_lines *l, const struct json *v, str key) {
  str s = STR_NONE;
  json_string(json_get(v, key), &l->arena, &s);
  return s;
}

// ---- the index ----

struct rank_server {
  struct rank_server *next;
  str name;
  struct search_doc *docs;
  size_t count, cap;
};

struct rank_servers {
  struct map by_name;
  struct rank_server *first, **tail;
};

static struct rank_server *server_of(struct rank_servers *all, struct arena *a, str name) {
  struct rank_server *s = map_find(&all->by_name, name);
  if (s) return s;
  s = ARENA_NEW(a, struct rank_server);
  s->name = name;
  bool added = map_add(&all->by_name, name, s);
  ASSERT(added && !*all->tail);
  *all->tail = s;
  all->tail = &s->next;
  return s;
}

static void add_tool(struct rank_servers *all, struct rank_lines *tools, const struct json *tool) {
  struct rank_server *s = server_of(all, &tools->arena, member(tools, tool, STR("server")));
  if (s->count == s->cap) {
    s->cap = s->cap ? s->cap * 2 : 16;
    s->docs = mem_grow(s->docs, s->cap * sizeof *s->docs);
  }
  struct search_doc *d = &s->docs[s->count++];
  search_doc_from_tool(tool, &tools->arena, d);
  d->id = member(tools, tool, STR("id"));
}

static struct search_index *build(struct rank_lines *tools, const struct hash_key *seed) {
  struct rank_servers all = {.tail = &all.first};
  map_init(&all.by_name, seed);
  for (size_t i = 0; i < tools->count; i++) add_tool(&all, tools, tools->values[i]);
  size_t n = 0;
  struct search_part **parts = mem_alloc((map_count(&all.by_name) + 1) * sizeof(struct search_part *));
  for (struct rank_server *s = all.first; s; s = s->next) {
    struct search_source source = {.server = s->name, .docs = s->docs, .count = s->count};
    parts[n++] = search_part_new(&source, seed);
    mem_free(s->docs);
  }
  ASSERT(n == map_count(&all.by_name));  // `parts` has room for the servers in `all.by_name`
  struct search_index *x = search_index_new(parts, n, seed);
  for (size_t i = 0; i < n; i++) search_part_unref(&parts[i]);
  mem_free(parts);
  map_done(&all.by_name);
  return x;
}

// ---- the answers ----

static void print_hits(const struct search_index *x, str id, const struct search_hit *hits, size_t count) {
  struct buf line;
  buf_init(&line, MOST_LINE_BYTES);
  struct json_writer w = json_writer(&line);
  json_begin_object(&w);
  json_member_str(&w, STR("id"), id);
  json_put_key(&w, STR("ranked"));
  json_begin_array(&w);
  for (size_t i = 0; i < count; i++) json_put_str(&w, search_index_id(x, hits[i].doc));
  json_end_array(&w);
  json_end_object(&w);
  buf_char(&line, '\n');
  fwrite(line.p, 1, line.n, stdout);
  buf_done(&line);
}

static void answer(const struct search_index *x, struct rank_lines *queries, size_t top_k) {
  struct arena scratch;
  ASSERT(top_k > 0 && top_k <= SEARCH_MOST_HITS);
  arena_init(&scratch);
  for (size_t i = 0; i < queries->count; i++) {
    struct search_hit hits[SEARCH_MOST_HITS];
    struct search_query q = {.text = member(queries, queries->values[i], STR("query")), .top_k = top_k};
    size_t n = search_run(x, &q, &scratch, hits);
    print_hits(x, member(queries, queries->values[i], STR("id")), hits, n);
    arena_reset(&scratch);
  }
  arena_done(&scratch);
}

static int rank(const struct rank_options *o) {
  struct rand_source random = rand_system;
  struct hash_key seed = rand_hash_key(&random);
  struct rank_lines tools, queries;
  int status = lines_read(&tools, o->tools);
  int other = lines_read(&queries, o->queries);
  if (!status) status = other;
  if (!status) {
    struct search_index *x = build(&tools, &seed);
    answer(x, &queries, o->top_k);
    search_index_free(&x);
  }
  lines_done(&tools);
  lines_done(&queries);
  return status;
}

int cmd_rank(int argc, char **argv) {
  struct rank_options o = {.top_k = DEFAULT_HITS};
  if (!parse_options(argc, argv, &o)) return command_misused(argv[0], NULL);
  if (!o.help) return rank(&o);
  fputs(help, stdout);
  return EXIT_OK;
}

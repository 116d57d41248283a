// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "app/cli/command.h"
#include "base/buf.h"
#include "base/mem.h"
#include "text/tokens.h"
#include "json/write.h"

enum { MOST_FILE_BYTES = 1 << 30, READ_BYTES = 1 << 16, WRITE_BYTES = 1 << 16 };

static const char help[] = "usage: toolgate tokens [--ids] [--lines] [--json] [FILE...]\n\n"
                           "Prints the exact number of cl100k_base tokens of each file, or of standard input\n"
                           "(also FILE -). Text that looks like a special token is ordinary text; bytes that\n"
                           "are not UTF-8 count as U+FFFD. With several files, prints the name after each answer.\n\n"
                           "  --ids    print the ids of the tokens instead of their number\n"
                           "  --lines  print an answer for each line, without its newline\n"
                           "  --json   print a JSON object for each file\n";

struct tokens_options {
  bool ids, lines, json, help;
};

static bool parse_options(int argc, char **argv, struct tokens_options *out) {
  static const struct option options[] = {{"ids", no_argument, NULL, 'i'},
                                          {"lines", no_argument, NULL, 'l'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
  for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
    switch (c) {
    case 'i': out->ids = true; break;
    case 'l': out->lines = true; break;
    case 'j': out->json = true; break;
    case 'h': out->help = true; break;
    default: return false;
    }
  }
  return true;
}

// ---- reading ----

static bool read_whole(FILE *f, struct buf *out) {
  for (size_t n = 1; n > 0;) {
    char *p = buf_room(out, READ_BYTES);
    if (!p) return false;
    n = fread(p, 1, READ_BYTES, f);
    out->n += n;
  }
  return !ferror(f);
}

static bool read_input(const char *path, bool is_stdin, struct buf *out) {
  FILE *f = is_stdin ? stdin : fopen(path, "rbe");
  bool ok = f && read_whole(f, out);
  if (!ok) fprintf(stderr, "toolgate: %s: %s\n", path, out->over ? "larger than 1 GiB" : strerror(errno));
  if (f && !is_stdin) fclose(f);
  return ok;
}

// ---- answering ----

struct printer {
  struct tokens_options options;
  const char *name;  // file name to print with each answer, or NULL
  struct buf out;    // written to stdout when it is full
  struct json_writer json;
  uint32_t *ids;
  size_t cap;
};

static void flush(struct printer *p, size_t above) {
  ASSERT(!p->out.over);
  if (p->out.n <= above) return;
  fwrite(p->out.p, 1, p->out.n, stdout);
  buf_reset(&p->out);
}

// Writes the token ids of a text to p->ids and returns their number.
static size_t encode(struct printer *p, str text) {
  size_t n = tokens_encode(text, p->ids, p->cap);
  if (n <= p->cap) return n;
  p->ids = mem_grow(p->ids, n * sizeof *p->ids);
  p->cap = n;
  size_t again = tokens_encode(text, p->ids, n);
  ASSERT(again == n);
  return n;
}

static void print_name(struct printer *p, size_t line) {
  if (p->name) buf_printf(&p->out, "  %s", p->name);
  if (p->name && line) buf_printf(&p->out, ":%zu", line);
  buf_char(&p->out, '\n');
}

static void print_ids(struct printer *p, str text) {
  size_t n = encode(p, text);
  for (size_t i = 0; i < n; i++) {
    if (i) buf_char(&p->out, ' ');
    buf_u64(&p->out, p->ids[i]);
    flush(p, WRITE_BYTES);
  }
}

static void put_ids(struct printer *p, str text) {
  size_t n = encode(p, text);
  json_begin_array(&p->json);
  for (size_t i = 0; i < n; i++) {
    json_put_u64(&p->json, p->ids[i]);
    flush(p, WRITE_BYTES);
  }
  json_end_array(&p->json);
}

// Prints the result for one text. `line` is its line number, from 1, or 0 if the text is a whole file.
static void answer(struct printer *p, str text, size_t line) {
  if (p->options.json) {
    if (p->options.ids) put_ids(p, text);
    else json_put_u64(&p->json, tokens_count(text));
  } else {
    if (p->options.ids) print_ids(p, text);
    else buf_u64(&p->out, tokens_count(text));
    print_name(p, line);
  }
  flush(p, WRITE_BYTES);
}

static void answer_lines(struct printer *p, str text) {
  size_t number = 0;
  for (str line; text.n;) {
    str_cut(text, '\n', &line, &text);
    answer(p, line, ++number);
  }
}

static void answer_json(struct printer *p, str text) {
  p->json = json_writer(&p->out);
  json_begin_object(&p->json);
  json_member_str_or_null(&p->json, STR("file"), str_of(p->name));
  json_put_key(&p->json, p->options.lines ? STR("lines") : p->options.ids ? STR("ids") : STR("tokens"));
  if (p->options.lines) {
    json_begin_array(&p->json);
    answer_lines(p, text);
    json_end_array(&p->json);
  } else {
    answer(p, text, 0);
  }
  json_end_object(&p->json);
  buf_char(&p->out, '\n');
}

static bool answer_file(struct printer *p, const char *path, bool named) {
  bool is_stdin = strcmp(path, "-") == 0;
  struct buf text;
  buf_init(&text, MOST_FILE_BYTES);
  bool ok = read_input(is_stdin ? "standard input" : path, is_stdin, &text);
  p->name = named && !(is_stdin && p->options.json) ? path : NULL;
  if (ok && p->options.json) answer_json(p, buf_view(&text));
  else if (ok && p->options.lines) answer_lines(p, buf_view(&text));
  else if (ok) answer(p, buf_view(&text), 0);
  flush(p, 0);
  buf_done(&text);
  return ok;
}

// Counts the tokens of each file. Continues with the next file if a file cannot be read.
static int answer_files(const struct tokens_options *options, const char *const *paths, int count) {
  struct printer p = {.options = *options};
  int status = EXIT_OK;
  buf_init(&p.out, 2 * WRITE_BYTES);
  for (int i = 0; i < count; i++)
    if (!answer_file(&p, paths[i], count > 1 || options->json)) status = EXIT_CANNOT;
  buf_done(&p.out);
  mem_free(p.ids);
  return status;
}

int cmd_tokens(int argc, char **argv) {
  struct tokens_options options = {0};
  if (!parse_options(argc, argv, &options)) {
    fprintf(stderr, "%s --help lists the options\n", argv[0]);
    return EXIT_USAGE;
  }
  if (options.help) {
    fputs(help, stdout);
    return EXIT_OK;
  }
  static const char *const standard_input[] = {"-"};
  if (optind == argc) return answer_files(&options, standard_input, 1);
  return answer_files(&options, (const char *const *)argv + optind, argc - optind);
}

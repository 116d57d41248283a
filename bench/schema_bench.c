// SPDX-License-Identifier: Apache-2.0
// How long schema/ takes: to compile a schema, and to check a value of about 1 KB against it.
//
//   schema_bench [SCHEMA.json VALUE.json]
#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "schema/schema.h"

enum { MOST_BYTES = 1 << 20, ROUNDS = 9, TURNS = 20000 };

// The arguments of a tool that opens an issue: strings, numbers, enumerations, lists of objects, a reference.
static const char example_schema[] =
    "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"owner\",\"repo\",\"title\"],\"definitions\":{\"person\":{\"type\":\"object\","
    "\"required\":[\"login\"],\"properties\":{\"login\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":39},"
    "\"id\":{\"type\":\"integer\",\"minimum\":1},\"admin\":{\"type\":\"boolean\"}}}},\"properties\":{"
    "\"owner\":{\"type\":\"string\",\"minLength\":1},\"repo\":{\"type\":\"string\",\"pattern\":\"^[\\\\w.-]+$\"},"
    "\"title\":{\"type\":\"string\",\"maxLength\":256},\"body\":{\"type\":\"string\"},"
    "\"labels\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true,\"maxItems\":100},"
    "\"assignees\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/definitions/person\"}},"
    "\"milestone\":{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"integer\",\"minimum\":1}]},"
    "\"state\":{\"type\":\"string\",\"enum\":[\"open\",\"closed\",\"draft\"]},\"priority\":{\"type\":\"number\","
    "\"minimum\":0,\"maximum\":1,\"multipleOf\":0.05},\"notify\":{\"type\":\"boolean\"}}}";

static const char example_value[] =
    "{\"owner\":\"octocat\",\"repo\":\"hello-world.c\",\"title\":\"The parser forgets the last byte of a message\","
    "\"body\":\"When a message ends exactly at the end of a buffer, the last byte is read but never handed on. It "
    "can be seen with any client that sends its request in two parts, the second of them one byte long. A capture "
    "of the traffic is attached, and a test that fails before the change and passes after it. The cause is the "
    "comparison in the loop that looks for the end of the header: it stops one byte early when the buffer is full, "
    "and nobody looks again because the socket has nothing more to say. Found while running the suite.\","
    "\"labels\":[\"bug\",\"parser\",\"needs-triage\",\"good first issue\"],\"assignees\":[{\"login\":\"mona\",\"id\":"
    "583231,\"admin\":false},{\"login\":\"hubot\",\"id\":480938},{\"login\":\"defunkt\",\"id\":2,\"admin\":true}],"
    "\"milestone\":12,\"state\":\"open\",\"priority\":0.85,\"notify\":true}";

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static str read_file(const char *path) {
  char *text = mem_alloc(MOST_BYTES);
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(text, 1, MOST_BYTES, f) : 0;
  if (f) fclose(f);
  return (str){text, n};
}

static void validate_often(const struct schema *s, const struct json *value, struct arena *scratch) {
  struct schema_result result;
  for (int i = 0; i < TURNS; i++) {
    schema_validate(s, value, scratch, &result);
    arena_reset(scratch);
  }
}

static void compile_often(const struct json *source, int turns) {
  struct fault f;
  for (int i = 0; i < turns; i++) {
    struct schema *s = schema_compile(source, &schema_default_options, &f);
    schema_free(&s);
  }
}

// The best of some rounds: what the machine can do when nothing disturbs it.
int main(int argc, char **argv) {
  str schema_text = argc > 2 ? read_file(argv[1]) : str_of(example_schema);
  str value_text = argc > 2 ? read_file(argv[2]) : str_of(example_value);
  struct arena arena, scratch;
  struct fault f;
  struct schema_result result = {0};
  arena_init(&arena);
  arena_init(&scratch);
  struct json *source = json_parse(&arena, schema_text, &json_default_limits, &f);
  struct json *value = source ? json_parse(&arena, value_text, &json_default_limits, &f) : NULL;
  struct schema *s = value ? schema_compile(source, &schema_default_options, &f) : NULL;
  if (!s) {
    fprintf(stderr, "%s (%s)\n", f.message, f.path);
    return 1;
  }
  double validate = 1e9, compile = 1e9;
  for (int round = 0; round < ROUNDS; round++) {
    double start = now_us();
    validate_often(s, value, &scratch);
    double middle = now_us();
    compile_often(source, TURNS / 20);
    double end = now_us();
    if (middle - start < validate) validate = middle - start;
    if (end - middle < compile) compile = end - middle;
  }
  bool valid = schema_validate(s, value, &scratch, &result);
  printf("schema of %u bytes: %.1f us to compile; value of %u bytes (%s): %.2f us to check\n", (unsigned)source->n,
         compile / (TURNS / 20), (unsigned)value->n, valid ? "valid" : "invalid", validate / TURNS);
  return 0;
}

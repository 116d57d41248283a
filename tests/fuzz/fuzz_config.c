// SPDX-License-Identifier: Apache-2.0
// toolgate.yaml, with servers in it. What YAML gives is JSON; whatever is in it, all of it is checked or reported.
#include "app/config/config_load.h"
#include "app/config/yaml.h"
#include "base/assert.h"
#include "base/mem.h"
#include "upstream/kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { INPUT_BYTES = 1 << 16, MAX_JSON = 1 << 20 };

static void yaml_is_json(str text) {
  struct buf out;
  struct arena a;
  struct fault f = {0};
  buf_init(&out, MAX_JSON);
  arena_init(&a);
  if (yaml_to_json(text, &out, &f)) ASSERT(json_parse(&a, buf_view(&out), &json_default_limits, &f));
  else ASSERT(f.code && f.message[0] && str_starts(str_of(f.path), STR("line ")));
  arena_done(&a);
  buf_done(&out);
}

static void check_problems(const struct config_problems *p) {
  for (size_t i = 0; i < p->count; i++) {
    ASSERT(p->list[i].message.n);
    for (size_t k = 0; k < p->list[i].message.n; k++) ASSERT((unsigned char)p->list[i].message.p[k] >= 0x20);
  }
}

static void check_servers(const struct config *c) {
  ASSERT(c->upstream_count <= CONFIG_MAX_SERVERS);
  for (size_t i = 0; i < c->upstream_count; i++) {
    const struct upstream_spec *s = &c->upstreams[i];
    ASSERT(s->name.n && s->arg_count <= CONFIG_MAX_ARGS);
    ASSERT((s->command.n > 0) + (s->url.n > 0) + (s->own != NULL) == 1);
    ASSERT(s->kind->process == (s->command.n > 0));
    for (size_t k = 0; k < s->header_count; k++) ASSERT(!memchr(s->headers[k].value.p, '\n', s->headers[k].value.n));
  }
}

static void read_as(str file, str text) {
  char *const env[] = {(char *)"A=value", (char *)"EMPTY=", (char *)"HOME=/h", NULL};
  struct config_options opt = {0};
  struct config c = {0};
  struct config_problems problems;
  struct config_loader l = {.config = &c, .opt = &opt, .env = env, .problems = &problems};
  struct config_document d = {.file = file, .folder = STR("/folder"), .text = mem_alloc(text.n), .text_n = text.n};
  struct config_place at = {file, STR("/servers")};
  if (text.n) memcpy(d.text, text.p, text.n);
  config_problems_init(&problems);
  config_keys_default(&l);
  ASSERT(problems.count == 0);
  bool parsed = config_document_parse(&l, &d);
  const struct json *servers = json_get(d.root, STR("servers"));
  ASSERT(parsed || config_problems_fatal(&problems));
  if (parsed) config_keys_read(&l, &d);
  if (servers) config_servers_read(&l, &at, servers, d.folder, true);
  check_problems(&problems);
  check_servers(&c);
  config_document_done(&d);
  arena_done(&l.work);
  config_done(&c);
  config_problems_done(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  str text = {(const char *)data, n};
  if (n > INPUT_BYTES) return 0;
  yaml_is_json(text);
  read_as(STR("toolgate.yaml"), text);
  read_as(STR("toolgate.json"), text);
  return 0;
}

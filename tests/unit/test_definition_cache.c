// SPDX-License-Identifier: Apache-2.0
// upstream/definition_cache: definitions of upstreams on disk, and their use by a gateway that is started again.
#include "lane_world.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "upstream/kind.h"
#include "upstream/upstream_impl.h"

struct fixture {
  struct world w;  // without its server
  char folder[64], state[96];
  int64_t wall;  // ms
  struct upstream_spec spec;
  struct definition_cache *cache;
  struct arena arena;
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
  return remove(path);
}

static int64_t fixture_wall(void *ctx) {
  return ((struct fixture *)((char *)ctx - offsetof(struct fixture, w)))->wall;
}

static int enter(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  snprintf(x->folder, sizeof x->folder, "/tmp/toolgate-XXXXXX");
  assert_non_null(mkdtemp(x->folder));
  snprintf(x->state, sizeof x->state, "%s/a/b/state", x->folder);
  x->wall = clock_wall_ms(&clock_system);
  x->w = (struct world){.clock = {world_mono, fixture_wall, &x->w}, .log = {-1, LOG_OFF, NULL}};
  loop_init(&x->w.loop, &x->w.log, &x->w.clock, &rand_system);
  x->spec = (struct upstream_spec){.name = STR("my files"), .kind = &upstream_stdio, .command = STR("node")};
  arena_init(&x->arena);
  x->cache = definition_cache_open(&x->w.loop, str_of(x->state));
  assert_non_null(x->cache);
  *state = x;
  return 0;
}

static int leave(void **state) {
  struct fixture *x = *state;
  definition_cache_close(&x->cache);
  loop_run(&x->w.loop);
  loop_done(&x->w.loop);
  arena_done(&x->arena);
  nftw(x->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  mem_free(x);
  return 0;
}

static struct definitions *definitions_of(const char *tools) {
  struct definitions *r = definitions_new((struct definitions_origin){.stateless = true, .http = true});
  struct arena a;
  struct fault f;
  arena_init(&a);
  assert_true(definitions_add_page(r, ITEM_TOOL, json_parse(&a, str_of(tools), &json_default_limits, &f)));
  arena_done(&a);
  return r;
}

#define TOOLS \
  "{\"tools\":[{ \"name\" : \"\\u0061\", \"n\":1.0 },{\"name\":\"b\"}],\"ttlMs\":7,\"cacheScope\":\"public\"}"

static void save(struct fixture *x, const char *tools, const char *instructions) {
  struct definitions *r = definitions_of(tools);
  definition_cache_save(x->cache, &x->spec, r, str_of(instructions));
  definitions_free(&r);
  loop_run(&x->w.loop);  // until it is written
}

// NULL, or the roster.
static struct definitions *load(struct fixture *x, str *out_instructions) {
  return definition_cache_load(x->cache, &x->spec, &x->arena, out_instructions);
}

static bool is_kept(struct fixture *x) {
  str instructions;
  struct definitions *r = load(x, &instructions);
  bool kept = r != NULL;
  definitions_free(&r);
  return kept;
}

// The path of the one file there is that ends so.
static char *find_file(struct fixture *x, const char *suffix) {
  DIR *d = opendir(x->state);
  char *found = NULL;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));)
    if (str_ends(str_of(e->d_name), str_of(suffix))) {
      assert_null(found);
      found = arena_cstr(&x->arena, arena_printf(&x->arena, "%s/%s", x->state, e->d_name));
    }
  closedir(d);
  return found;
}

static str read_file(struct fixture *x, const char *path) {
  char text[65536];
  int fd = open(path, O_RDONLY);
  ssize_t n = read(fd, text, sizeof text);
  assert_true(n >= 0);
  close(fd);
  return arena_str(&x->arena, (str){text, (size_t)n});
}

static void write_file(const char *path, str text) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_int_equal(write(fd, text.p, text.n), text.n);
  close(fd);
}

// ---- files

static void what_is_kept_comes_back_as_it_was(void **state) {
  struct fixture *x = *state;
  str instructions;
  assert_false(is_kept(x));
  save(x, TOOLS, "Be kind.\n\"Always\".");
  struct definitions *r = load(x, &instructions), *was = definitions_of(TOOLS);
  assert_non_null(r);
  assert_true(definitions_same(r, was));
  assert_true(str_eq(r->defs[ITEM_TOOL][0].text, STR("{ \"name\" : \"\\u0061\", \"n\":1.0 }")));
  assert_int_equal(r->ttl_ms[ITEM_TOOL], 7);
  assert_true(str_eq(instructions, STR("Be kind.\n\"Always\".")));
  definitions_free(&r);
  definitions_free(&was);
  save(x, "{\"tools\":[]}", "");  // and the next replaces it
  r = load(x, &instructions);
  assert_int_equal(r->count[ITEM_TOOL], 0);
  assert_int_equal(instructions.n, 0);
  definitions_free(&r);
  assert_non_null(find_file(x, ".json"));
}

static void files_and_folder_are_for_their_owner_alone(void **state) {
  struct fixture *x = *state;
  struct stat st;
  umask(0);
  save(x, TOOLS, "");
  umask(022);
  assert_int_equal(stat(x->state, &st) | (int)(st.st_mode & 0777), 0700);
  char *file = find_file(x, ".json");
  assert_int_equal(stat(file, &st) | (int)(st.st_mode & 0777), 0600);
  assert_int_equal(stat(find_file(x, "salt"), &st) | (int)(st.st_mode & 0777), 0600);
  assert_non_null(strstr(file, "/my_files-"));
  assert_null(find_file(x, ".new"));
}

static void another_way_to_the_server_is_another_server(void **state) {
  struct fixture *x = *state;
  str args[] = {STR("--token"), STR("hunter2-hunter2")}, joined[] = {STR("--tokenhunter2"), STR("-hunter2")};
  struct upstream_pair env[] = {{STR("KEY"), STR("swordfish")}}, other[] = {{STR("KEY"), STR("swordfist")}};
  struct upstream_spec spec = {.name = STR("s"),
                               .kind = &upstream_stdio,
                               .command = STR("node"),
                               .args = args,
                               .arg_count = 2,
                               .env = env,
                               .env_count = 1,
                               .cwd = STR("/tmp")};
  x->spec = spec;
  save(x, TOOLS, "");
  assert_true(is_kept(x));
  x->spec.timeout_ms = 5;  // how long it is waited for makes no difference
  assert_true(is_kept(x));
  struct upstream_spec others[8];
  for (size_t i = 0; i < 8; i++) others[i] = spec;
  others[0].name = STR("t");
  others[1].command = STR("deno");
  others[2].args = joined;
  others[3].arg_count = 1;
  others[4].env = other;
  others[5].env_count = 0;
  others[6].cwd = STR_NONE;
  others[7].isolation = UPSTREAM_ISOLATE_SHARED;
  for (size_t i = 0; i < 8; i++) {
    x->spec = others[i];
    if (is_kept(x)) fail_msg("number %zu is believed", i);
  }
}

struct table {
  struct upstream_own own;
  str text;
};

static void print_table(const struct upstream_own *own, kind_take *take, void *ctx) {
  take(ctx, ((const struct table *)own)->text);
}

static void other_data_of_a_kind_is_another_server(void **state) {
  static const struct upstream_kind kind = {.name = "table", .kept = true, .fingerprint = print_table};
  struct fixture *x = *state;
  struct table one = {.text = STR("one")}, two = {.text = STR("two")};
  x->spec = (struct upstream_spec){.name = STR("s"), .kind = &kind, .own = &one.own};
  save(x, TOOLS, "");
  assert_true(is_kept(x));
  x->spec.own = &two.own;
  assert_false(is_kept(x));
}

static void another_kind_is_another_server(void **state) {
  struct fixture *x = *state;
  x->spec = (struct upstream_spec){.name = STR("s"), .kind = &upstream_http, .url = STR("http://a/")};
  save(x, TOOLS, "");
  assert_true(is_kept(x));
  x->spec.kind = &upstream_sse;
  assert_false(is_kept(x));
}

static void the_names_of_kinds_differ(void **state) {
  for (size_t i = 0; i < UPSTREAM_KIND_COUNT; i++)
    for (size_t k = 0; k < i; k++) assert_string_not_equal(upstream_kinds[i]->name, upstream_kinds[k]->name);
}

static void nothing_of_the_configuration_is_in_a_file(void **state) {
  struct fixture *x = *state;
  static const char *const secrets[] = {"hunter2", "swordfish", "bearer", "secret-host"};
  str args[] = {STR("hunter2")};
  struct upstream_pair env[] = {{STR("KEY"), STR("swordfish")}}, headers[] = {{STR("Authorization"), STR("bearer")}};
  x->spec.args = args;
  x->spec.arg_count = 1;
  x->spec.env = env;
  x->spec.env_count = 1;
  x->spec.headers = headers;
  x->spec.header_count = 1;
  x->spec.url = STR("http://secret-host/");
  save(x, TOOLS, "");
  str text = read_file(x, find_file(x, ".json"));
  for (size_t i = 0; i < 4; i++) assert_null(memmem(text.p, text.n, secrets[i], strlen(secrets[i])));
  // Nor can it be guessed from the file: with another salt the same server has another fingerprint.
  char *first = find_file(x, ".json");
  unlink(first);
  unlink(find_file(x, "salt"));
  definition_cache_close(&x->cache);
  x->cache = definition_cache_open(&x->w.loop, str_of(x->state));
  save(x, TOOLS, "");
  assert_string_not_equal(find_file(x, ".json"), first);
}

static void a_program_without_a_folder_is_of_the_folder_that_it_is_started_in(void **state) {
  struct fixture *x = *state;
  char here[4096];
  save(x, TOOLS, "");
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(x->folder), 0);
  bool elsewhere = is_kept(x);
  assert_int_equal(chdir(here), 0);
  assert_false(elsewhere);
  assert_true(is_kept(x));
}

static void what_is_not_whole_is_ignored(void **state) {
  struct fixture *x = *state;
  save(x, TOOLS, "Be kind.");
  char *file = find_file(x, ".json");
  str whole = read_file(x, file);
  for (size_t n = 0; n < whole.n; n++) {
    write_file(file, (str){whole.p, n});
    if (is_kept(x)) fail_msg("the first %zu bytes are believed", n);
  }
  write_file(file, whole);
  assert_true(is_kept(x));
}

static void what_is_of_another_version_or_makes_no_sense_is_ignored(void **state) {
  struct fixture *x = *state;
  static const struct {
    const char *from, *to;
  } edits[] = {
      {"\"format\":1", "\"format\":2"},          {"\"fingerprint\":\"", "\"fingerprint\":\"0"},
      {"\"stateless\":true", "\"stateless\":1"}, {"\"lists\":{", "\"lists\":{\"prompts/list\":[],"},
      {"\"tools\":[", "\"tools\":[4,"},          {"\"lists\":", "\"list\":"},
  };
  save(x, TOOLS, "");
  char *file = find_file(x, ".json");
  str whole = read_file(x, file);
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    const char *at = memmem(whole.p, whole.n, edits[i].from, strlen(edits[i].from));
    assert_non_null(at);
    str before = {whole.p, (size_t)(at - whole.p)}, after = str_from(whole, before.n + strlen(edits[i].from));
    write_file(file, arena_printf(&x->arena, "%.*s%s%.*s", STR_ARG(before), edits[i].to, STR_ARG(after)));
    if (is_kept(x)) fail_msg("believed with %s", edits[i].to);
  }
  write_file(file, STR("\0\1\2\xff garbage"));
  assert_false(is_kept(x));
  assert_int_equal(unlink(file) | mkdir(file, 0700), 0);
  assert_false(is_kept(x));
  assert_int_equal(rmdir(file) | mkfifo(file, 0600), 0);
  assert_false(is_kept(x));  // and nobody waits for it
  assert_int_equal(unlink(file) | symlink("/etc/passwd", file), 0);
  assert_false(is_kept(x));
  assert_int_equal(unlink(file), 0);
  save(x, TOOLS, "");
  assert_true(is_kept(x));
}

static void a_folder_that_others_can_write_to_is_not_used(void **state) {
  struct fixture *x = *state;
  assert_int_equal(chmod(x->state, 0777), 0);
  assert_null(definition_cache_open(&x->w.loop, str_of(x->state)));
  assert_int_equal(chmod(x->state, 0755), 0);
  struct definition_cache *k = definition_cache_open(&x->w.loop, str_of(x->state));
  assert_non_null(k);
  definition_cache_close(&k);
  assert_null(definition_cache_open(&x->w.loop, STR("/dev/null/x")));
}

static void a_salt_that_is_not_whole_is_made_anew(void **state) {
  struct fixture *x = *state;
  save(x, TOOLS, "");
  definition_cache_close(&x->cache);
  write_file(find_file(x, "salt"), STR("short"));
  x->cache = definition_cache_open(&x->w.loop, str_of(x->state));
  assert_non_null(x->cache);
  assert_false(is_kept(x));
  assert_int_equal(read_file(x, find_file(x, "salt")).n, 32);
}

static void what_nobody_needed_for_a_month_is_removed(void **state) {
  struct fixture *x = *state;
  char mine[128], theirs[128], part[128];
  snprintf(mine, sizeof mine, "%s/old-0123456789abcdef.json", x->state);
  snprintf(theirs, sizeof theirs, "%s/notes.json", x->state);
  snprintf(part, sizeof part, "%s/.0123.new", x->state);
  write_file(mine, STR("{}"));
  write_file(theirs, STR("{}"));
  write_file(part, STR("{}"));
  save(x, TOOLS, "");
  x->wall += INT64_C(29) * 24 * 3600 * 1000;
  definition_cache_close(&x->cache);
  x->cache = definition_cache_open(&x->w.loop, str_of(x->state));
  assert_int_equal(access(mine, F_OK), 0);
  assert_int_not_equal(access(part, F_OK), 0);
  x->wall += INT64_C(2) * 24 * 3600 * 1000;
  definition_cache_close(&x->cache);
  x->cache = definition_cache_open(&x->w.loop, str_of(x->state));
  assert_int_not_equal(access(mine, F_OK), 0);
  assert_int_equal(access(theirs, F_OK), 0);  // none of ours
  assert_false(is_kept(x));
}

static void files_are_written_one_after_the_other_and_to_the_end(void **state) {
  struct fixture *x = *state;
  char text[128];
  for (int i = 0; i < 20; i++) {
    snprintf(text, sizeof text, "{\"tools\":[{\"name\":\"t%d\"}]}", i);
    struct definitions *r = definitions_of(text);
    definition_cache_save(x->cache, &x->spec, r, STR_NONE);
    definitions_free(&r);
  }
  definition_cache_close(&x->cache);
  loop_run(&x->w.loop);
  x->cache = definition_cache_open(&x->w.loop, str_of(x->state));
  str instructions;
  struct definitions *r = load(x, &instructions);
  assert_true(str_eq(r->defs[ITEM_TOOL][0].name, STR("t19")));
  definitions_free(&r);
}

// ---- a gateway that was started again

static char state_dir[64];

static int setup_kept(void **state) {
  setup(state);
  struct lanes_world *o = *state;
  snprintf(state_dir, sizeof state_dir, "/tmp/toolgate-XXXXXX");
  assert_non_null(mkdtemp(state_dir));
  o->state_dir = state_dir;
  o->tools = "[{\"name\":\"a\"},{\"name\":\"b\"}]";
  o->instructions = "\"Be kind.\"";
  upstreams_free(&o->all);
  open_upstreams(o);
  return 0;
}

static int teardown_kept(void **state) {
  int failed = teardown(state);
  nftw(state_dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  return failed;
}

static void stopped(void *ctx) {
  *(int *)ctx = 1;
}

// Ends the gateway, with what it had to write, and starts another.
static void start_again(struct lanes_world *o) {
  int done = 0;
  upstreams_stop(o->all, stopped, &done);
  for (uint64_t until = real_ms() + DEADLINE_MS; !done;) {
    advance(&o->w, 20);
    assert_true(real_ms() < until);
  }
  upstreams_free(&o->all);
  for (int i = 0; i < 400 && uv_loop_alive(&o->w.loop.uv) && o->w.loop.uv.active_reqs.count; i++)
    turn(&o->w, -1, real_ms() + DEADLINE_MS);
  open_upstreams(o);
  o->catalogs = o->changes = 0;
}

static size_t tools_of(struct lanes_world *o) {
  return upstreams_catalog(o->all)->count[ITEM_TOOL];
}

static struct session *new_client(struct lanes_world *o, const char *capabilities) {
  struct session *s = ARENA_ARRAY(&o->arena, struct session, 1);
  *s = client(capabilities);
  return s;
}

static void what_was_kept_is_listed_before_the_server_is_up(void **state) {
  struct lanes_world *o = *state;
  open_common(o);
  assert_int_equal(tools_of(o), 2);
  start_again(o);
  struct session *s = new_client(o, "{}"), *askable = new_client(o, "{\"sampling\":{}}");
  const struct catalog *c = upstreams_catalog(o->all);
  assert_int_equal(c->count[ITEM_TOOL], 2);
  assert_true(str_eq(c->parts[0].instructions, STR("Be kind.")));
  // Seen by whoever has no list of his own yet.
  assert_true(c->items[ITEM_TOOL][0].seen & upstreams_view(o->all, 0, s));
  assert_true(c->items[ITEM_TOOL][0].seen & upstreams_view(o->all, 0, askable));
  // Nobody started it: a call would. While it starts, nothing is sure.
  assert_true(upstreams_available(o->all, 0, s));
  assert_false(upstreams_settle(o->all, s));
  assert_false(upstreams_available(o->all, 0, s));
  open_common(o);
  assert_true(upstreams_available(o->all, 0, s));
  assert_int_equal(tools_of(o), 2);
  advance(&o->w, 1000);
  assert_int_equal(o->catalogs, 0);  // it is the same: nobody need hear of it
}

static void the_first_list_that_comes_takes_its_place(void **state) {
  struct lanes_world *o = *state;
  open_common(o);
  start_again(o);
  o->tools = "[{\"name\":\"c\"}]";
  struct session *s = new_client(o, "{\"sampling\":{}}");
  assert_false(upstreams_settle(o->all, s));
  struct lane *lane = upstreams_lane_find(o->all, 0, s);
  for (uint64_t until = real_ms() + DEADLINE_MS; !lane->listed;) turn(&o->w, -1, until);
  assert_true(upstreams_settle(o->all, s));
  assert_int_equal(o->changes, 1);
  assert_int_equal(tools_of(o), 1);
  assert_true(str_eq(upstreams_catalog(o->all)->items[ITEM_TOOL][0].name, STR("c")));
  assert_null(profile_kept(lane->upstream));
  start_again(o);  // there was no common lane: what its clients got is kept
  assert_int_equal(tools_of(o), 1);
}

static void of_a_server_that_is_down_the_kept_ones_stay(void **state) {
  struct lanes_world *o = *state;
  open_common(o);
  start_again(o);
  o->refuse_opening = 1000;
  struct session *s = new_client(o, "{}");
  upstreams_start(o->all);
  wait_state(o, upstreams_lane_find(o->all, 0, s), LANE_DOWN);
  assert_true(upstreams_settle(o->all, s));
  assert_int_equal(tools_of(o), 2);
  assert_false(upstreams_available(o->all, 0, s));
}

static void with_lazy_start_what_was_kept_will_do(void **state) {
  struct lanes_world *o = *state;
  struct session *s = new_client(o, "{}");
  o->lazy = true;
  start_again(o);
  assert_false(upstreams_settle(o->all, s));  // nothing was kept
  open_common(o);
  buf_reset(&o->asked);
  start_again(o);
  assert_true(upstreams_settle(o->all, s));
  assert_null(upstreams_lane_find(o->all, 0, s));
  assert_true(upstreams_available(o->all, 0, s));
  is_asked(o, "");
}

static void another_server_at_the_same_name_is_not_taken_for_it(void **state) {
  struct lanes_world *o = *state;
  open_common(o);
  start_again(o);
  assert_int_equal(tools_of(o), 2);
  struct upstream_pair header = {STR("Authorization"), STR("Bearer 2")};
  o->spec.headers = &header;
  o->spec.header_count = 1;
  start_again(o);
  assert_int_equal(tools_of(o), 0);
  o->spec.header_count = 0;
}

static void a_change_of_instructions_alone_makes_another_catalog_and_no_other_list(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_common(o);
  advance(&o->w, 1000);
  assert_int_equal(o->changes, 1);
  int catalogs = o->catalogs;
  uint64_t version = upstreams_catalog(o->all)->parts[0].version;
  struct definitions *same = definitions_new(lane->upstream->profiles[0].definitions->origin);
  for (int kind = 0; kind < ITEM_KINDS; kind++)
    definitions_copy(same, lane->upstream->profiles[0].definitions, (enum item_kind)kind);
  profile_set(lane, same, STR("Be quick."));
  const struct catalog *c = upstreams_catalog(o->all);
  assert_true(str_eq(c->parts[0].instructions, STR("Be quick.")));
  assert_true(c->parts[0].version != version);
  advance(&o->w, 1000);
  assert_int_equal(o->catalogs, catalogs + 1);
  assert_int_equal(o->changes, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
#define GATEWAY(name) cmocka_unit_test_setup_teardown(name, setup_kept, teardown_kept)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_is_kept_comes_back_as_it_was),
      TEST(files_and_folder_are_for_their_owner_alone),
      TEST(another_way_to_the_server_is_another_server),
      TEST(other_data_of_a_kind_is_another_server),
      TEST(another_kind_is_another_server),
      cmocka_unit_test(the_names_of_kinds_differ),
      TEST(nothing_of_the_configuration_is_in_a_file),
      TEST(a_program_without_a_folder_is_of_the_folder_that_it_is_started_in),
      TEST(what_is_not_whole_is_ignored),
      TEST(what_is_of_another_version_or_makes_no_sense_is_ignored),
      TEST(a_folder_that_others_can_write_to_is_not_used),
      TEST(a_salt_that_is_not_whole_is_made_anew),
      TEST(what_nobody_needed_for_a_month_is_removed),
      TEST(files_are_written_one_after_the_other_and_to_the_end),
      GATEWAY(what_was_kept_is_listed_before_the_server_is_up),
      GATEWAY(the_first_list_that_comes_takes_its_place),
      GATEWAY(of_a_server_that_is_down_the_kept_ones_stay),
      GATEWAY(with_lazy_start_what_was_kept_will_do),
      GATEWAY(another_server_at_the_same_name_is_not_taken_for_it),
      GATEWAY(a_change_of_instructions_alone_makes_another_catalog_and_no_other_list),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

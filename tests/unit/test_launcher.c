// SPDX-License-Identifier: Apache-2.0
// Launchers: which commands are some, and when the program that they start runs.
#include "child_world.h"
#include "upstream/upstream_impl.h"

static enum upstream_launcher kind_of(const char *line) {
  str words[16], rest = str_of(line);
  size_t n = 0;
  while (rest.n && n < 16)
    if (!str_cut(rest, ' ', &words[n++], &rest)) rest = STR_NONE;
  struct upstream_spec s = {.kind = &upstream_stdio, .command = words[0], .args = words + 1, .arg_count = n - 1};
  return spec_launcher(&s);
}

static void launchers_are_known_by_their_command(void **state) {
  static const char *const npx[] = {"npx -y a", "/usr/bin/npx a", "npm exec a", "npm --yes exec a", "env A=b npx a"};
  static const char *const others[] = {"bunx a",
                                       "bun x a",
                                       "pnpm dlx a",
                                       "pnpx a",
                                       "yarn dlx a",
                                       "uvx a",
                                       "uv run a",
                                       "uv tool run a",
                                       "pipx run a",
                                       "docker run -i a",
                                       "podman run a",
                                       "docker container run a",
                                       "dnx a",
                                       "dotnet tool exec",
                                       "dotnet run a",
                                       "uv --quiet run a",
                                       "uv --directory /srv run a",
                                       "docker --context=x run a",
                                       "docker --host tcp://a run b"};
  static const char *const none[] = {"node npx", "npm start",    "docker exec a",
                                     "uv pip",   "dotnet a.dll", "sh -c npx",
                                     "env",      "uv pip run",   "docker exec -i a run"};
  for (size_t i = 0; i < sizeof npx / sizeof *npx; i++) assert_int_equal(kind_of(npx[i]), UPSTREAM_NPX);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_int_equal(kind_of(others[i]), UPSTREAM_LAUNCHER);
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_int_equal(kind_of(none[i]), UPSTREAM_NO_LAUNCHER);
}

// A program that starts the gateway may repeat names; there is room for each of them once.
static void of_a_variable_that_is_there_several_times_a_server_gets_the_first(void **state) {
  enum { TIMES = 200 };
  static char first[] = "LANG=first", other[] = "OTHER=x", home[] = "HOME=/h", later[] = "LANG=later",
              away[] = "HOME=/x";
  char *env[TIMES + 3] = {first, other, home};
  for (size_t i = 3; i < TIMES + 2; i++) env[i] = i % 2 ? later : away;
  struct upstreams all = {.opt.env = env};
  struct upstream_spec spec = {.kind = &upstream_stdio, .command = STR("server")};
  struct upstream u = {.all = &all, .spec = &spec};
  struct fault f;
  arena_init(&u.arena);
  assert_true(upstream_stdio.prepare(&u, &f));
  assert_string_equal(u.child.envp[0], "LANG=first");
  assert_string_equal(u.child.envp[1], "HOME=/h");
  assert_null(u.child.envp[2]);
  tail_free(&u.tail);
  arena_done(&u.arena);
}

static int serving;

static void on_serving(void *ctx, struct child *c) {
  serving++;
}

static const struct child_events launcher_events = {on_start, on_fail, on_exit_seen, on_serving};

static void launch(struct world *w, struct probe *p, const char *script) {
  serving = 0;
  *p = (struct probe){.in = -1, .out = -1, .err = -1};
  struct child_spec spec = {
      .file = "sh", .argv = (const char *[]){"sh", "-c", script, NULL}, .envp = w->envp, .launcher = true};
  p->child = child_spawn(w->host, &spec, &launcher_events, p);
  run_until(w, &p->starts);
}

static void a_program_runs_when_it_has_the_pipes_of_its_launcher(void **state) {
  struct world *w = *state;
  struct probe p;
  launch(w, &p, "sleep 0.3 </dev/null >/dev/null; echo now >&2; cat; true");
  wait_for_text(w, p.err, "now\n");
  run_until(w, &serving);
  assert_int_equal(serving, 1);
  assert_int_equal(p.exits, 0);
  close_probe(&p);
}

static void helpers_of_an_installation_are_not_the_program(void **state) {
  struct world *w = *state;
  struct probe p;
  launch(w, &p, "sleep 0.5 </dev/null; sleep 0.5 >/dev/null; exit 3");
  run_until(w, &p.exits);
  assert_int_equal(p.status, 3);
  assert_int_equal(serving, 0);
  close_probe(&p);
}

static void an_installation_has_its_grace_when_the_host_ends(void **state) {
  struct world *w = *state;
  struct probe p;
  char text[64];
  launch(w, &p, "trap 'sleep 0.3 </dev/null; echo clean; exit' TERM; echo up; while :; do sleep 0.01 </dev/null; done");
  wait_for_text(w, p.out, "up");
  child_host_free(&w->host);  // nobody has stopped it
  assert_true(str_eq(read_all(w, p.out, text, sizeof text), STR("clean\n")));
  close_probe(&p);
}

// The number of system calls that a process has made for reading.
static unsigned long long reads_of(pid_t pid) {
  char name[16], text[512];
  size_t n;
  unsigned long long count = 0;
  snprintf(name, sizeof name, "%d", (int)pid);
  assert_true(read_proc(name, "io", text, sizeof text, &n));
  assert_int_equal(sscanf(strstr(text, "syscr:"), "syscr: %llu", &count), 1);
  return count;
}

static pid_t parent_of(pid_t pid) {
  char name[16], text[512];
  size_t n;
  int parent = 0;
  snprintf(name, sizeof name, "%d", (int)pid);
  assert_true(read_proc(name, "stat", text, sizeof text, &n));
  assert_int_equal(sscanf(strrchr(text, ')') + 1, " %*c %d", &parent), 1);
  return parent;
}

// As docker does: the server is no process below the launcher.
static void a_launcher_whose_program_answered_is_not_looked_at_again(void **state) {
  struct world *w = *state;
  struct probe p;
  launch(w, &p, "trap '' TERM; echo hello; while :; do read line; done");
  wait_for_text(w, p.out, "hello");
  pid_t keeper = parent_of(child_pid(p.child));
  unsigned long long before = reads_of(keeper);
  for (uint64_t until = now_ms() + DEADLINE_MS; reads_of(keeper) == before; nap()) assert_true(now_ms() < until);
  child_serves(p.child);
  uint64_t calm_since = now_ms(), until = calm_since + DEADLINE_MS;
  for (before = reads_of(keeper); now_ms() - calm_since < 500; nap()) {
    uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    if (reads_of(keeper) == before) continue;
    assert_true(now_ms() < until);
    before = reads_of(keeper);
    calm_since = now_ms();
  }
  // And it has no grace of an installation when the host ends.
  uint64_t from = now_ms();
  char text[64];
  child_host_free(&w->host);
  read_all(w, p.out, text, sizeof text);
  assert_true(now_ms() - from < CHILD_INSTALL_GRACE_MS / 2);
  close_probe(&p);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launchers_are_known_by_their_command),
      cmocka_unit_test(of_a_variable_that_is_there_several_times_a_server_gets_the_first),
      T(a_program_runs_when_it_has_the_pipes_of_its_launcher),
      T(helpers_of_an_installation_are_not_the_program),
      T(an_installation_has_its_grace_when_the_host_ends),
      T(a_launcher_whose_program_answered_is_not_looked_at_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

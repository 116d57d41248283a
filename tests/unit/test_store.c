// SPDX-License-Identifier: Apache-2.0
// store/: pieces of results that outlive the process, found by their owner only and within bounds; and what happens
// when the disk does not do its part.
#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "store_world.h"

#include "io/mapped.h"
#include "store/store_impl.h"

enum { LARGE = 200000 };

static struct store_piece piece_of(const char *handle, str bytes) {
  struct store_piece p = {.handle = str_of(handle),
                          .kind = 3,
                          .tool_id = STR("gh:x#00000000"),
                          .media_type = STR("text/plain"),
                          .label = STR("label"),
                          .bytes = bytes};
  hash_sha256(bytes, p.hash);
  return p;
}

static const struct piece_origin origin = {STR("gh"), STR("x")};

static void order(struct store *s, str owner, const char *handle, str bytes, struct store_wait *w) {
  struct store_piece p = piece_of(handle, bytes);
  struct piece_batch *b = piece_batch_new(s, owner, origin);
  assert_true(piece_batch_add(b, &p, NULL));
  pieces_put(s, &b, w);
  assert_null(b);
}

static enum store_kept put(struct world *x, str owner, const char *handle, str bytes) {
  struct waiter w;
  wait_init(&w);
  order(x->store, owner, handle, bytes, &w.wait);
  return await(x, &w);
}

static void keep(struct world *x, const char *handle, str bytes) {
  assert_int_equal(put(x, STR("o"), handle, bytes), STORE_KEPT);
}

// As a process does that keeps one thing and ends.
static void leave_behind(struct world *x, const char *handle, str bytes) {
  open_store(x);
  keep(x, handle, bytes);
  close_store(x);
}

static bool find(struct world *x, const char *owner, const char *handle, struct found_piece *out) {
  struct piece_find f = {.read = {.done = NULL}};
  pieces_find(x->store, str_of(owner), str_of(handle), &f);
  if (!await_read(x, &f.read)) return false;
  *out = f.found;
  return true;
}

static struct piece_usage usage(struct world *x, str owner) {
  struct piece_count c = {.read = {.done = NULL}};
  pieces_count(x->store, owner, &c);
  assert_true(await_read(x, &c.read));
  return c.usage;
}

static bool finds(struct world *x, const char *owner, const char *handle) {
  struct found_piece p;
  if (!find(x, owner, handle, &p)) return false;
  found_piece_release(&p);
  return true;
}

static bool finds_bytes(struct world *x, const char *handle, str bytes) {
  struct found_piece p;
  if (!find(x, "o", handle, &p)) return false;
  bool same = str_eq(p.piece.bytes, bytes);
  found_piece_release(&p);
  found_piece_release(&p);
  return same;
}

static str large_text(char fill) {
  static char text[2][LARGE];
  char *at = text[fill & 1];
  memset(at, fill, LARGE);
  return (str){at, LARGE};
}

static const char *path_in(struct world *x, const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", x->folder, name);
  return path;
}

static size_t count_files(struct world *x) {
  DIR *d = opendir(path_in(x, "artifacts"));
  size_t n = 0;
  if (!d) return 0;
  for (struct dirent *e; (e = readdir(d));) n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
  closedir(d);
  return n;
}

static int mode_of(const char *path) {
  struct stat st;
  assert_int_equal(stat(path, &st), 0);
  return st.st_mode & 0777;
}

// ---- what is kept

static void what_was_put_is_found_after_a_restart(void **state) {
  struct world *x = *state;
  open_store(x);
  keep(x, "a", (str){"a\0\xff", 3});
  keep(x, "large", large_text('l'));
  keep(x, "empty", STR(""));
  reopen(x);
  struct found_piece p;
  assert_true(find(x, "o", "a", &p));
  assert_true(str_eq(p.piece.bytes, ((str){"a\0\xff", 3})));
  assert_true(str_eq(p.piece.tool_id, STR("gh:x#00000000")));
  assert_true(str_eq(p.piece.media_type, STR("text/plain")));
  assert_true(str_eq(p.piece.label, STR("label")));
  assert_int_equal(p.piece.kind, 3);
  found_piece_release(&p);
  assert_true(finds_bytes(x, "large", large_text('l')));
  assert_true(finds_bytes(x, "empty", STR("")));
}

static void only_the_owner_can_read_what_is_on_disk(void **state) {
  struct world *x = *state;
  umask(0);
  open_store(x);
  keep(x, "a", STR("a"));
  keep(x, "large", large_text('l'));
  umask(022);
  assert_int_equal(mode_of(x->folder), 0700);
  assert_int_equal(mode_of(path_in(x, "artifacts")), 0700);
  assert_int_equal(mode_of(path_in(x, "toolgate.db")), 0600);
  assert_int_equal(mode_of(path_in(x, "toolgate.db-wal")), 0600);
  char name[100], hex[65];
  struct store_piece p = piece_of("large", large_text('l'));
  hash_hex(p.hash, SHA256_SIZE, hex);
  snprintf(name, sizeof name, "artifacts/%s", hex);
  assert_int_equal(mode_of(path_in(x, name)), 0600);
}

static void a_foreign_an_unknown_and_an_expired_handle_look_alike(void **state) {
  struct world *x = *state;
  open_store(x);
  keep(x, "a", STR("secret"));
  assert_false(finds(x, "other", "a"));
  assert_false(finds(x, "", "a"));
  assert_false(finds(x, "o", "b"));
  assert_true(finds(x, "o", "a"));
  x->wall += (int64_t)store_default_limits.piece_ms - 1;
  assert_true(finds(x, "o", "a"));
  x->wall += 1;
  assert_false(finds(x, "o", "a"));
}

static void age_is_told_by_the_wall_clock_over_a_restart(void **state) {
  struct world *x = *state;
  leave_behind(x, "a", large_text('a'));
  x->wall += (int64_t)store_default_limits.piece_ms;
  open_store(x);
  assert_false(finds(x, "o", "a"));
  keep(x, "b", STR("b"));
  assert_int_equal(count_files(x), 0);
  assert_int_equal(usage(x, STR("o")).count, 1);
}

static void the_same_bytes_put_again_are_young_again(void **state) {
  struct world *x = *state;
  open_store(x);
  keep(x, "a", large_text('a'));
  x->wall += (int64_t)store_default_limits.piece_ms / 2;
  keep(x, "a", large_text('a'));
  x->wall += (int64_t)store_default_limits.piece_ms / 2 + 1;
  assert_true(finds_bytes(x, "a", large_text('a')));
  assert_int_equal(usage(x, STR("o")).count, 1);
  assert_int_equal(count_files(x), lasts(x) ? 1 : 0);
}

static void two_owners_of_the_same_bytes_share_a_file_that_leaves_with_the_last(void **state) {
  struct world *x = *state;
  struct store_limits limits = store_default_limits;
  limits.piece_count = 1;
  x->store = open_with(x, limits, true);
  assert_int_equal(put(x, STR("alice"), "h", large_text('s')), STORE_KEPT);
  assert_int_equal(put(x, STR("bob"), "h", large_text('s')), STORE_KEPT);
  assert_int_equal(count_files(x), 1);
  assert_int_equal(put(x, STR("alice"), "other", STR("small")), STORE_KEPT);
  assert_false(finds(x, "alice", "h"));
  assert_true(finds(x, "bob", "h"));
  assert_int_equal(count_files(x), 1);
  assert_int_equal(put(x, STR("bob"), "other", STR("small")), STORE_KEPT);
  assert_false(finds(x, "bob", "h"));
  assert_int_equal(count_files(x), 0);
}

static void a_batch_is_kept_as_a_whole_and_may_hand_over_its_memory(void **state) {
  struct world *x = *state;
  open_store(x);
  struct piece_batch *b = piece_batch_new(x->store, STR("o"), origin);
  char *block = mem_alloc(LARGE + 10), *small = mem_alloc(4);
  memset(block, 'q', LARGE + 10);
  memcpy(small, "tiny", 4);
  struct store_piece p = piece_of("large", (str){block + 5, LARGE}), q = piece_of("small", (str){small, 4});
  assert_true(piece_batch_add(b, &p, block));
  assert_true(piece_batch_add(b, &q, small));
  assert_int_equal(piece_batch_count(b), 2);
  struct waiter w;
  wait_init(&w);
  pieces_put(x->store, &b, &w.wait);
  assert_int_equal(await(x, &w), STORE_KEPT);
  assert_true(finds_bytes(x, "large", large_text('q')));
  assert_true(finds_bytes(x, "small", STR("tiny")));
}

static void a_batch_that_is_not_put_leaves_nothing(void **state) {
  struct world *x = *state;
  open_store(x);
  struct piece_batch *b = piece_batch_new(x->store, STR("o"), origin);
  struct store_piece p = piece_of("large", large_text('q'));
  assert_true(piece_batch_add(b, &p, NULL));
  piece_batch_free(&b);
  assert_null(b);
  assert_false(finds(x, "o", "large"));
}

// ---- bounds

static void fill(struct world *x) {
  struct store_limits limits = store_default_limits;
  limits.piece_count = 3;
  x->store = open_with(x, limits, true);
  keep(x, "a", STR("a"));
  keep(x, "b", large_text('b'));
  keep(x, "c", STR("c"));
}

static void what_was_not_used_for_longest_leaves_first(void **state) {
  struct world *x = *state;
  fill(x);
  assert_true(finds(x, "o", "a"));
  keep(x, "d", STR("d"));
  assert_false(finds(x, "o", "b"));
  assert_true(finds(x, "o", "a"));
  assert_true(finds(x, "o", "c"));
  keep(x, "e", STR("e"));
  assert_false(finds(x, "o", "d"));
  assert_int_equal(put(x, STR("other"), "z", STR("z")), STORE_KEPT);
  assert_true(finds(x, "o", "a"));
}

static void bytes_of_an_owner_and_of_all_are_bounded(void **state) {
  struct world *x = *state;
  struct store_limits limits = store_default_limits;
  limits.piece_owner_bytes = 3 * LARGE - 1;
  limits.piece_bytes = 4 * LARGE - 1;
  x->store = open_with(x, limits, true);
  assert_int_equal(put(x, STR("a"), "1", large_text('1')), STORE_KEPT);
  assert_int_equal(put(x, STR("a"), "2", large_text('2')), STORE_KEPT);
  assert_int_equal(put(x, STR("a"), "3", large_text('1')), STORE_KEPT);
  assert_false(finds(x, "a", "1"));
  assert_true(finds(x, "a", "2"));
  assert_int_equal(put(x, STR("b"), "1", large_text('1')), STORE_KEPT);
  assert_true(finds(x, "a", "3"));
  assert_true(finds(x, "a", "2"));
  assert_int_equal(put(x, STR("b"), "2", large_text('2')), STORE_KEPT);
  assert_false(finds(x, "b", "1"));  // of all of them, it was not used for the longest time
  assert_true(finds(x, "a", "3"));
  assert_true(usage(x, STR_NONE).bytes < limits.piece_bytes);
}

static void what_the_bounds_have_no_room_for_is_refused_at_once(void **state) {
  struct world *x = *state;
  struct store_limits limits = store_default_limits;
  limits.piece_owner_bytes = LARGE + 5000;
  x->store = open_with(x, limits, true);
  struct piece_batch *b = piece_batch_new(x->store, STR("o"), origin);
  struct store_piece p = piece_of("1", large_text('1')), q = piece_of("2", (str){large_text('2').p, 10000});
  assert_true(piece_batch_add(b, &p, NULL));
  char *block = mem_alloc(10000);
  memset(block, 'x', 10000);
  q.bytes.p = block;
  assert_false(piece_batch_add(b, &q, block));
  mem_free(block);
  assert_int_equal(piece_batch_count(b), 1);
  piece_batch_free(&b);
}

// ---- waiting

static int last_told;

static void on_ordered(struct store_wait *w, enum store_kept kept) {
  struct waiter *x = CONTAINER_OF(w, struct waiter, wait);
  assert_int_equal(x->kept, last_told + 1);
  last_told = (int)x->kept;
  x->told = 1;
}

static void who_waits_is_told_in_the_order_of_the_puts(void **state) {
  struct world *x = *state;
  enum { COUNT = 600 };
  static struct waiter waits[COUNT];
  last_told = -1;
  open_store(x);
  for (int i = 0; i < COUNT; i++) {
    char handle[16];
    snprintf(handle, sizeof handle, "%d", i);
    waits[i] = (struct waiter){.kept = (enum store_kept)i};
    store_wait_init(&waits[i].wait, on_ordered);
    order(x->store, STR("o"), handle, str_of(handle), &waits[i].wait);
  }
  while (!waits[COUNT - 1].told) uv_run(&x->loop.uv, UV_RUN_ONCE);
  for (int i = 0; i < COUNT; i++) assert_int_equal(waits[i].told, 1);
}

static void one_who_gives_up_waiting_is_not_told_but_it_is_written(void **state) {
  struct world *x = *state;
  struct waiter w;
  open_store(x);
  wait_init(&w);
  order(x->store, STR("o"), "a", STR("a"), &w.wait);
  assert_true(store_waiting(&w.wait));
  store_wait_cancel(&w.wait);
  store_wait_cancel(&w.wait);
  assert_false(store_waiting(&w.wait));
  reopen(x);
  keep(x, "b", STR("b"));
  assert_int_equal(w.told, 0);
  assert_true(finds(x, "o", "a"));
}

static void closing_writes_what_was_accepted_and_tells(void **state) {
  struct world *x = *state;
  enum { COUNT = 300 };
  static struct waiter waits[COUNT];
  char handle[16];
  open_store(x);
  for (int i = 0; i < COUNT; i++) {
    snprintf(handle, sizeof handle, "%d", i);
    wait_init(&waits[i]);
    order(x->store, STR("o"), handle, i % 50 ? STR("x") : large_text('x'), &waits[i].wait);
  }
  reopen(x);
  for (int i = 0; i < COUNT; i++) {
    snprintf(handle, sizeof handle, "%d", i);
    assert_int_equal(waits[i].told, 1);
    assert_int_equal(waits[i].kept, STORE_KEPT);
    assert_true(finds(x, "o", handle));
  }
}

static void a_command_without_a_loop_has_it_written_when_the_call_returns(void **state) {
  struct world *x = *state;
  struct store_options opt = {.log = &x->log,
                              .clock = &x->clock,
                              .rand = &rand_system,
                              .folder = str_of(x->folder),
                              store_default_limits,
                              x->backend};
  struct store *s = store_new(&opt);
  struct waiter w;
  bool closed = false;
  wait_init(&w);
  order(s, STR("o"), "a", large_text('c'), &w.wait);
  assert_int_equal(w.told, 1);
  assert_int_equal(w.kept, STORE_KEPT);
  store_close(&s, on_store_closed, &closed);
  assert_true(closed);
  open_store(x);
  assert_true(finds_bytes(x, "a", large_text('c')));
}

static void nothing_is_touched_before_something_is_written(void **state) {
  struct world *x = *state;
  open_store(x);
  assert_false(finds(x, "o", "a"));
  close_store(x);
  struct stat st;
  assert_int_not_equal(stat(x->folder, &st), 0);
}

// ---- what is lazy

// Comes again and again until the first of them was written.
struct trickle {
  struct world *x;
  uv_timer_t timer;
  int ordered, written;
};

struct drop {
  struct store_write write;
  struct trickle *of;
};

static void drop_free(struct store_write *w) {
  struct drop *d = CONTAINER_OF(w, struct drop, write);
  d->of->written++;
  mem_free(d);
}

static void on_drop(uv_timer_t *timer) {
  struct trickle *t = timer->data;
  struct drop *d = MEM_NEW(struct drop);
  write_init(&d->write, WRITE_NOTHING, drop_free);
  d->write.lazy = true;
  d->of = t;
  t->ordered++;
  store_order(t->x->store, &d->write, NULL);
}

static void a_steady_trickle_does_not_put_off_what_is_lazy(void **state) {
  enum { EVERY_MS = 20, MANY = 500 };  // fewer than are dropped when too many wait
  struct trickle t = {.x = *state};
  open_store(t.x);
  uv_timer_init(&t.x->loop.uv, &t.timer);
  t.timer.data = &t;
  uv_timer_start(&t.timer, on_drop, 0, EVERY_MS);
  while (!t.written && t.ordered < MANY) uv_run(&t.x->loop.uv, UV_RUN_ONCE);
  uv_close((uv_handle_t *)&t.timer, NULL);
  assert_true(t.written > 0);
  close_store(t.x);
  assert_int_equal(t.written, t.ordered);
}

// ---- several processes

static void several_stores_in_one_folder_see_what_the_others_keep(void **state) {
  struct world *x = *state;
  open_store(x);
  struct store *first = x->store, *second = open_with(x, store_default_limits, true);
  keep(x, "of the first", large_text('f'));
  x->store = second;
  assert_true(finds_bytes(x, "of the first", large_text('f')));
  keep(x, "of the second", STR("s"));
  x->store = first;
  assert_true(finds(x, "o", "of the second"));
  close_one(x, &second);
  assert_true(finds(x, "o", "of the second"));
}

enum { CHILDREN = 4, PUTS = 40 };

// In a process of its own, with a loop of its own.
static int put_many(struct world *x, int child) {
  struct loop loop;
  loop_init(&loop, &x->log, &x->clock, &rand_system);
  struct world mine = *x;
  struct store_options opt = {&loop,     &x->log, &x->clock, &rand_system, str_of(x->folder), store_default_limits,
                              x->backend};
  mine.store = store_new(&opt);
  int failed = 0;
  for (int i = 0; i < PUTS; i++) {
    char handle[32];
    struct waiter w;
    wait_init(&w);
    snprintf(handle, sizeof handle, "%d/%d", child, i);
    order(mine.store, STR("o"), handle, i % 8 ? str_of(handle) : large_text((char)('a' + i)), &w.wait);
    while (!w.told) uv_run(&loop.uv, UV_RUN_ONCE);
    failed += w.kept != STORE_KEPT;
  }
  bool closed = false;
  store_close(&mine.store, on_store_closed, &closed);
  while (!closed) uv_run(&loop.uv, UV_RUN_ONCE);
  loop_done(&loop);
  return failed;
}

static void several_processes_write_at_once_and_nothing_gets_lost(void **state) {
  struct world *x = *state;
  for (int i = 0; i < CHILDREN; i++) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(put_many(x, i));
  }
  for (int i = 0; i < CHILDREN; i++) {
    int status;
    assert_true(wait(&status) > 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  open_store(x);
  for (int child = 0; child < CHILDREN; child++)
    for (int i = 0; i < PUTS; i++) {
      char handle[32];
      snprintf(handle, sizeof handle, "%d/%d", child, i);
      assert_true(finds_bytes(x, handle, i % 8 ? str_of(handle) : large_text((char)('a' + i))));
    }
}

// ---- what a crash leaves behind

static void write_file(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void what_a_crash_left_behind_is_swept_but_not_what_others_are_writing(void **state) {
  struct world *x = *state;
  leave_behind(x, "large", large_text('l'));
  char orphan[96], old[96], fresh[96];
  snprintf(orphan, sizeof orphan, "artifacts/%064d", 7);
  snprintf(old, sizeof old, "artifacts/.0123.new");
  snprintf(fresh, sizeof fresh, "artifacts/.4567.new");
  write_file(path_in(x, orphan), "x");
  write_file(path_in(x, old), "x");
  write_file(path_in(x, fresh), "x");
  struct timespec long_ago[2] = {{.tv_sec = x->wall / 1000 - 7200}, {.tv_sec = x->wall / 1000 - 7200}};
  assert_int_equal(utimensat(AT_FDCWD, path_in(x, old), long_ago, 0), 0);
  open_store(x);
  keep(x, "small", STR("s"));
  assert_int_not_equal(access(path_in(x, orphan), F_OK), 0);
  assert_int_not_equal(access(path_in(x, old), F_OK), 0);
  assert_int_equal(access(path_in(x, fresh), F_OK), 0);
  assert_true(finds_bytes(x, "large", large_text('l')));
}

static void tidying_removes_what_is_too_old_and_makes_nothing(void **state) {
  struct world *x = *state;
  open_store(x);
  store_tidy(x->store);
  close_store(x);
  assert_int_not_equal(access(x->folder, F_OK), 0);
  leave_behind(x, "large", large_text('l'));
  x->wall += (int64_t)store_default_limits.piece_ms;
  open_store(x);
  store_tidy(x->store);
  close_store(x);
  assert_int_equal(count_files(x), 0);
}

static void a_file_that_is_not_whole_is_found_without_bytes_and_not_intact(void **state) {
  struct world *x = *state;
  struct found_piece found;
  open_store(x);
  keep(x, "large", large_text('l'));
  char name[100], hex[65];
  struct store_piece p = piece_of("large", large_text('l'));
  hash_hex(p.hash, SHA256_SIZE, hex);
  snprintf(name, sizeof name, "artifacts/%s", hex);
  assert_int_equal(truncate(path_in(x, name), 70000), 0);
  assert_true(find(x, "o", "large", &found));
  assert_int_equal(found.piece.bytes.n, 0);
  assert_false(found_piece_intact(&found));
  found_piece_release(&found);
  assert_false(finds(x, "other", "large"));
  keep(x, "large", large_text('l'));
  assert_true(finds_bytes(x, "large", large_text('l')));
}

static void a_pipe_in_place_of_a_file_is_not_waited_for(void **state) {
  struct world *x = *state;
  struct found_piece found;
  open_store(x);
  keep(x, "large", large_text('l'));
  char name[100], hex[65];
  struct store_piece p = piece_of("large", large_text('l'));
  hash_hex(p.hash, SHA256_SIZE, hex);
  snprintf(name, sizeof name, "artifacts/%s", hex);
  assert_int_equal(unlink(path_in(x, name)), 0);
  assert_int_equal(mkfifo(path_in(x, name), 0600), 0);
  alarm(20);
  assert_true(find(x, "o", "large", &found));
  alarm(0);
  assert_int_equal(found.piece.bytes.n, 0);
  assert_false(found_piece_intact(&found));
  found_piece_release(&found);
}

// ---- disks that do not do their part

static void works_in_memory(struct world *x) {
  assert_int_equal(put(x, STR("o"), "small", STR("s")), STORE_PASSING);
  assert_int_equal(put(x, STR("o"), "large", large_text('l')), STORE_PASSING);
  assert_true(finds_bytes(x, "small", STR("s")));
  assert_true(finds_bytes(x, "large", large_text('l')));
  assert_false(finds(x, "other", "small"));
}

static void a_damaged_database_is_left_alone_and_the_log_says_what_to_do(void **state) {
  struct world *x = *state;
  assert_int_equal(mkdir(x->folder, 0700), 0);
  FILE *f = fopen(path_in(x, "toolgate.db"), "w");
  for (int i = 0; i < 1000; i++) fputs("this is no database\n", f);
  fclose(f);
  open_store(x);
  works_in_memory(x);
  assert_true(log_says(x, "toolgate.db: the file is not a database: move it away"));
  assert_true(log_says(x, "kept in memory, and lost when the gateway ends"));
  struct stat st;
  assert_int_equal(stat(path_in(x, "toolgate.db"), &st), 0);
  assert_int_equal(st.st_size, 20000);
}

static void overwrite_middle(const char *path) {
  int fd = open(path, O_RDWR);
  char junk[4096];
  memset(junk, 0xa5, sizeof junk);
  struct stat st;
  assert_int_equal(fstat(fd, &st), 0);
  for (off_t at = 4096; at < st.st_size; at += 4096) assert_int_equal(pwrite(fd, junk, sizeof junk, at), 4096);
  close(fd);
}

static void a_database_with_damaged_pages_does_not_stop_anything(void **state) {
  struct world *x = *state;
  open_store(x);
  for (int i = 0; i < 50; i++) {
    char handle[16];
    snprintf(handle, sizeof handle, "%d", i);
    keep(x, handle, (str){large_text('z').p, 3000});
  }
  close_store(x);
  overwrite_middle(path_in(x, "toolgate.db"));
  open_store(x);
  assert_false(finds(x, "o", "7"));
  works_in_memory(x);
  assert_true(log_says(x, "the database is damaged: move it away"));
}

static void change_database(struct world *x, const char *text) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path_in(x, "toolgate.db"), &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

static void a_database_of_a_newer_version_is_not_touched(void **state) {
  struct world *x = *state;
  leave_behind(x, "a", STR("a"));
  change_database(x, "PRAGMA user_version = 99");
  open_store(x);
  assert_false(finds(x, "o", "a"));
  works_in_memory(x);
  assert_true(log_says(x, "a newer version of Toolgate wrote this database (format 99"));
  close_store(x);
  change_database(x, "PRAGMA user_version = 2");
  open_store(x);
  assert_true(finds(x, "o", "a"));
  assert_false(finds(x, "o", "small"));
}

static void a_database_with_an_impossible_version_is_not_touched(void **state) {
  struct world *x = *state;
  leave_behind(x, "a", STR("a"));
  change_database(x, "PRAGMA user_version = -3");
  open_store(x);
  works_in_memory(x);
  assert_true(log_says(x, "the database belongs to another program"));
}

static void assert_origin(struct world *x, const char *handle, const char *server, const char *tool) {
  struct found_piece p;
  assert_true(find(x, "o", handle, &p));
  assert_true(str_eq(p.piece.origin.server, str_of(server)));
  assert_true(str_eq(p.piece.origin.tool, str_of(tool)));
  found_piece_release(&p);
}

// What version 1 wrote is what this one writes, without the two columns.
static void pieces_of_the_first_version_are_found_and_come_from_nowhere(void **state) {
  struct world *x = *state;
  leave_behind(x, "old", STR("a"));
  change_database(x, "ALTER TABLE pieces DROP COLUMN server; ALTER TABLE pieces DROP COLUMN tool;"
                     "PRAGMA user_version = 1");
  open_store(x);
  assert_origin(x, "old", "", "");
  keep(x, "new", STR("b"));
  assert_origin(x, "new", "gh", "x");
  keep(x, "old", STR("a"));  // told once more, so that it is known now
  assert_origin(x, "old", "gh", "x");
  close_store(x);
  open_store(x);
  assert_origin(x, "old", "gh", "x");
}

static void a_database_of_another_program_is_not_touched(void **state) {
  struct world *x = *state;
  assert_int_equal(mkdir(x->folder, 0700), 0);
  change_database(x, "CREATE TABLE t (v)");
  open_store(x);
  works_in_memory(x);
  assert_true(log_says(x, "the database belongs to another program"));
}

static void a_folder_that_cannot_be_made_is_said_and_tried_again_later(void **state) {
  struct world *x = *state;
  write_file(x->folder, "a file in its place");
  open_store(x);
  works_in_memory(x);
  assert_true(log_says(x, "kept in memory until it works again"));
  assert_int_equal(unlink(x->folder), 0);
  x->wall += 60000;
  keep(x, "b", STR("b"));
  assert_true(finds(x, "o", "small"));
  assert_true(log_says(x, "can be written again"));
}

static void a_folder_that_others_can_write_to_is_not_used(void **state) {
  struct world *x = *state;
  assert_int_equal(mkdir(x->folder, 0700), 0);
  assert_int_equal(chmod(x->folder, 0777), 0);
  open_store(x);
  works_in_memory(x);
  assert_true(log_says(x, "other users can write to"));
}

static void a_database_that_others_can_write_is_not_used(void **state) {
  struct world *x = *state;
  static const char *const names[] = {"toolgate.db", "toolgate.db-wal", "toolgate.db-shm"};
  assert_int_equal(mkdir(x->folder, 0700), 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *path = path_in(x, names[i]);
    write_file(path, "");
    assert_int_equal(chmod(path, 0666), 0);
    open_store(x);
    works_in_memory(x);
    assert_true(log_says(x, "can be written by other users"));
    close_store(x);
    assert_int_equal(unlink(path_in(x, names[i])), 0);
  }
}

static void a_link_is_not_taken_for_the_database(void **state) {
  struct world *x = *state;
  assert_int_equal(mkdir(x->folder, 0700), 0);
  assert_int_equal(symlink("elsewhere.db", path_in(x, "toolgate.db")), 0);
  open_store(x);
  works_in_memory(x);
  assert_int_equal(access(path_in(x, "elsewhere.db"), F_OK), -1);
}

static void a_database_that_others_can_read_gets_its_mode_back(void **state) {
  struct world *x = *state;
  open_store(x);
  keep(x, "a", STR("b"));
  close_store(x);
  assert_int_equal(chmod(path_in(x, "toolgate.db"), 0644), 0);
  open_store(x);
  keep(x, "c", STR("d"));
  assert_int_equal(mode_of(path_in(x, "toolgate.db")), 0600);
}

// As if the disk were full: no file may grow beyond this.
static void limit_files(rlim_t bytes) {
  struct rlimit r;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
  r.rlim_cur = bytes;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static void what_a_full_disk_does_not_take_lasts_as_long_as_the_process(void **state) {
  struct world *x = *state;
  signal(SIGXFSZ, SIG_IGN);
  open_store(x);
  keep(x, "before", STR("b"));
  limit_files(100000);
  assert_int_equal(put(x, STR("o"), "large", large_text('l')), STORE_PASSING);
  assert_true(finds_bytes(x, "large", large_text('l')));
  assert_int_equal(count_files(x), 0);
  assert_true(finds(x, "o", "before"));
  limit_files(1024);
  assert_int_equal(put(x, STR("o"), "small", STR("s")), STORE_PASSING);
  assert_true(finds(x, "o", "small"));
  limit_files(RLIM_INFINITY);
  keep(x, "after", large_text('a'));
  assert_true(finds_bytes(x, "large", large_text('l')));
  reopen(x);
  assert_true(finds_bytes(x, "after", large_text('a')));
  assert_true(finds(x, "o", "before"));
  assert_false(finds(x, "o", "large"));
}

static void a_full_disk_that_takes_what_is_small_is_told_once(void **state) {
  struct world *x = *state;
  signal(SIGXFSZ, SIG_IGN);
  open_store(x);
  keep(x, "before", STR("b"));
  limit_files(150000);
  assert_int_equal(put(x, STR("o"), "large", large_text('l')), STORE_PASSING);
  assert_true(log_says(x, "kept in memory until it works again"));
  assert_int_equal(ftruncate(x->log.fd, 0), 0);
  assert_int_equal(put(x, STR("o"), "small", STR("s")), STORE_KEPT);
  assert_int_equal(put(x, STR("o"), "other", large_text('o')), STORE_PASSING);
  assert_false(log_says(x, "can be written again"));
  assert_false(log_says(x, "kept in memory until it works again"));
  limit_files(RLIM_INFINITY);
  keep(x, "after", large_text('a'));
  assert_true(log_says(x, "can be written again"));
}

static void one_that_cannot_be_written_does_not_take_others_with_it(void **state) {
  struct world *x = *state;
  struct waiter w[3];
  signal(SIGXFSZ, SIG_IGN);
  open_store(x);
  keep(x, "before", STR("b"));
  limit_files(150000);
  for (int i = 0; i < 3; i++) wait_init(&w[i]);
  order(x->store, STR("o"), "1", STR("1"), &w[0].wait);
  order(x->store, STR("o"), "2", large_text('2'), &w[1].wait);
  order(x->store, STR("o"), "3", STR("3"), &w[2].wait);
  for (int i = 0; i < 3; i++) await(x, &w[i]);
  limit_files(RLIM_INFINITY);
  assert_int_equal(w[0].kept, STORE_KEPT);
  assert_int_equal(w[1].kept, STORE_PASSING);
  assert_int_equal(w[2].kept, STORE_KEPT);
}

static void memory_has_a_bound_of_its_own(void **state) {
  struct world *x = *state;
  struct store_limits limits = store_default_limits;
  limits.memory_bytes = 2 * LARGE;
  x->store = open_with(x, limits, false);
  keep(x, "a", large_text('a'));
  keep(x, "b", large_text('b'));
  assert_false(finds(x, "o", "a"));
  assert_true(finds(x, "o", "b"));
  struct store_piece p = piece_of("c", (str){mem_zero(3 * LARGE), 3 * LARGE});
  struct piece_batch *b = piece_batch_new(x->store, STR("o"), origin);
  assert_false(piece_batch_add(b, &p, (char *)p.bytes.p));
  mem_free((char *)p.bytes.p);
  piece_batch_free(&b);
}

static void what_is_found_outlives_its_eviction(void **state) {
  struct world *x = *state;
  struct store_limits limits = store_default_limits;
  limits.piece_count = 1;
  x->store = open_with(x, limits, true);
  keep(x, "a", large_text('a'));
  struct found_piece p;
  assert_true(find(x, "o", "a", &p));
  keep(x, "b", large_text('b'));
  assert_false(finds(x, "o", "a"));
  assert_true(str_eq(p.piece.bytes, large_text('a')));
  found_piece_release(&p);
}

static void a_database_that_was_taken_away_is_made_anew(void **state) {
  struct world *x = *state;
  open_store(x);
  keep(x, "a", STR("a"));
  char away[128];
  snprintf(away, sizeof away, "%s/away", x->top);
  assert_int_equal(rename(x->folder, away), 0);
  assert_false(finds(x, "o", "a"));
  keep(x, "b", large_text('b'));
  assert_true(finds_bytes(x, "b", large_text('b')));
  reopen(x);
  assert_true(finds(x, "o", "b"));
}

// The shared memory of SQLite, which it maps: whoever notices first, the writer or a reader.
static void truncated_shared_memory_is_created_again(void **state) {
  struct world *x = *state;
  mapped_survive();
  open_store(x);
  keep(x, "a", STR("a"));
  assert_true(finds_bytes(x, "a", STR("a")));
  assert_int_equal(truncate(path_in(x, "toolgate.db-shm"), 0), 0);
  keep(x, "b", STR("b"));
  assert_true(log_says(x, "another process truncated the -shm file"));
  assert_true(log_says(x, "can be written again"));
  assert_true(finds_bytes(x, "a", STR("a")));
  assert_int_equal(truncate(path_in(x, "toolgate.db-shm"), 0), 0);
  assert_true(finds_bytes(x, "b", STR("b")));
  keep(x, "c", STR("c"));
  assert_true(finds_bytes(x, "c", STR("c")));
  assert_int_equal(truncate(path_in(x, "toolgate.db-shm"), 0), 0);
  reopen(x);
  for (const char *name = "a\0b\0c\0"; *name; name += 2) assert_true(finds_bytes(x, name, str_of(name)));
}

static void a_database_of_0_bytes_is_made_anew(void **state) {
  struct world *x = *state;
  mapped_survive();
  open_store(x);
  keep(x, "a", large_text('a'));
  assert_true(finds(x, "o", "a"));
  assert_int_equal(truncate(path_in(x, "toolgate.db"), 0), 0);
  keep(x, "b", large_text('b'));
  assert_true(log_says(x, "another process truncated the database to 0 bytes"));
  assert_false(log_says(x, "locked"));
  assert_true(finds_bytes(x, "b", large_text('b')));
  assert_false(finds(x, "o", "a"));
  assert_int_equal(truncate(path_in(x, "toolgate.db"), 0), 0);
  assert_int_equal(truncate(path_in(x, "toolgate.db-wal"), 0), 0);
  assert_int_equal(truncate(path_in(x, "toolgate.db-shm"), 0), 0);
  assert_false(finds(x, "o", "b"));
  keep(x, "c", STR("c"));
  reopen(x);
  assert_true(finds_bytes(x, "c", STR("c")));
}

static void a_truncated_log_loses_its_pieces_only(void **state) {
  struct world *x = *state;
  mapped_survive();
  leave_behind(x, "a", STR("a"));
  open_store(x);
  keep(x, "b", STR("b"));
  assert_true(finds(x, "o", "b"));
  assert_int_equal(truncate(path_in(x, "toolgate.db-wal"), 0), 0);
  enum store_kept kept = put(x, STR("o"), "c", STR("c"));
  assert_true(kept == STORE_KEPT || kept == STORE_PASSING);
  keep(x, "d", STR("d"));
  reopen(x);
  assert_true(finds_bytes(x, "a", STR("a")));
  assert_true(finds_bytes(x, "d", STR("d")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      EACH(what_was_put_is_found_after_a_restart),
      T(only_the_owner_can_read_what_is_on_disk),
      EACH(a_foreign_an_unknown_and_an_expired_handle_look_alike),
      T(age_is_told_by_the_wall_clock_over_a_restart),
      EACH(the_same_bytes_put_again_are_young_again),
      T(two_owners_of_the_same_bytes_share_a_file_that_leaves_with_the_last),
      EACH(a_batch_is_kept_as_a_whole_and_may_hand_over_its_memory),
      EACH(a_batch_that_is_not_put_leaves_nothing),
      EACH(what_was_not_used_for_longest_leaves_first),
      EACH(bytes_of_an_owner_and_of_all_are_bounded),
      EACH(what_the_bounds_have_no_room_for_is_refused_at_once),
      EACH(who_waits_is_told_in_the_order_of_the_puts),
      EACH(one_who_gives_up_waiting_is_not_told_but_it_is_written),
      T(closing_writes_what_was_accepted_and_tells),
      T(a_command_without_a_loop_has_it_written_when_the_call_returns),
      T(nothing_is_touched_before_something_is_written),
      EACH(a_steady_trickle_does_not_put_off_what_is_lazy),
      T(several_stores_in_one_folder_see_what_the_others_keep),
      T(several_processes_write_at_once_and_nothing_gets_lost),
      T(what_a_crash_left_behind_is_swept_but_not_what_others_are_writing),
      T(tidying_removes_what_is_too_old_and_makes_nothing),
      T(a_file_that_is_not_whole_is_found_without_bytes_and_not_intact),
      T(a_pipe_in_place_of_a_file_is_not_waited_for),
      T(a_damaged_database_is_left_alone_and_the_log_says_what_to_do),
      T(a_database_with_damaged_pages_does_not_stop_anything),
      T(a_database_of_a_newer_version_is_not_touched),
      T(a_database_with_an_impossible_version_is_not_touched),
      T(pieces_of_the_first_version_are_found_and_come_from_nowhere),
      T(a_database_of_another_program_is_not_touched),
      T(a_folder_that_cannot_be_made_is_said_and_tried_again_later),
      T(a_folder_that_others_can_write_to_is_not_used),
      T(a_database_that_others_can_write_is_not_used),
      T(a_link_is_not_taken_for_the_database),
      T(a_database_that_others_can_read_gets_its_mode_back),
      T(what_a_full_disk_does_not_take_lasts_as_long_as_the_process),
      T(a_full_disk_that_takes_what_is_small_is_told_once),
      T(one_that_cannot_be_written_does_not_take_others_with_it),
      T(memory_has_a_bound_of_its_own),
      EACH(what_is_found_outlives_its_eviction),
      T(a_database_that_was_taken_away_is_made_anew),
      T(truncated_shared_memory_is_created_again),
      T(a_database_of_0_bytes_is_made_anew),
      T(a_truncated_log_loses_its_pieces_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

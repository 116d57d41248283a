// SPDX-License-Identifier: Apache-2.0
// The transport to a server that runs as a child process: one message per line on its stdin and stdout. Its stderr is
// written to our log.
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rate.h"
#include "io/stream/lines.h"
#include "io/stream/stream.h"
#include "mcp/client/link_impl.h"
#include "text/secrets.h"

enum {
  STDERR_LINE = 2048,
  STDERR_PER_SECOND = 50,
  QUEUE_MAX = 64 << 20,
  LEAVE_MS = 1000,
  TERM_MS = 1000,
  SETTLE_MS = 300,
  KEEP_OUTBOX = 1 << 18
};

struct stdio {
  struct link *link;
  struct child_host *host;
  struct child_spec spec;
  struct child *child;
  struct stream *in, *out, *err;  // the gateway's ends of the program's stdin, stdout and stderr
  int in_fd;                      // descriptor of `in`, valid while it is open
  uint64_t sent;                  // bytes written to the program's stdin
  bool untouched;                 // when stdin was closed, the program had not read a byte
  struct lines out_lines, err_lines;
  struct bulk_hold hold;  // counts the memory of the incomplete line
  bool held_back;         // reading is stopped because a client is slow
  struct buf flat;        // a copy of a message without its line breaks
  struct buf outbox;
  struct deferred flush;
  struct rate err_rate;
  struct secrets_stream err_secrets;
  unsigned words_rank;  // rank (enum line_rank) of the stderr line that is stored as last words
  unsigned behind;      // number of lines received after that line
  // The process is ending. Its last output, the end of stderr and its exit status may arrive in any order; a timer
  // waits a moment for all of them.
  bool ending, exited;
  bool installing;  // the process is a launcher that has not started the server's program yet
  struct fault why;
  struct timer settle;
};

static void fail(struct stdio *t, enum fault_code code, const char *what) {
  struct fault f;
  fault_set(&f, code, "%s", what);
  link_broken(t->link, &f);
}

// Closes the program's stdin. Before that, sets `untouched` if the program has not read a byte. Such a program did not
// end because of server/discover, so starting it again with initialize would not help. The number of unread bytes can
// be read only while this end of the pipe is open.
static void close_in(struct stdio *t) {
  int unread = -1;
  if (!t->in) return;
  t->untouched = ioctl(t->in_fd, FIONREAD, &unread) == 0 && (uint64_t)unread == t->sent;
  stream_close(&t->in);
}

static void ended(struct stdio *t) {
  timer_stop(&t->settle);
  close_in(t);
  if (t->untouched) t->link->doubt = false;
  link_enter(t->link);
  link_broken(t->link, &t->why);
  link_leave(t->link);
}

static void on_settled(struct timer *timer) {
  ended(CONTAINER_OF(timer, struct stdio, settle));
}

static void ending(struct stdio *t, const char *what) {
  if (t->ending) return;
  t->ending = true;
  fault_set(&t->why, FAULT_UPSTREAM_UNAVAILABLE, "%s", what);
  timer_start(t->link->opt.loop, &t->settle, SETTLE_MS);
}

// ---- output of the program

static void on_out_line(void *ctx, str line) {
  struct stdio *t = ctx;
  if (line.n) link_receive(t->link, line, &t->out_lines.carry, NULL);
  if (t->link->dead) t->out_lines.stop = true;
}

static void installed(struct stdio *t) {
  if (!t->installing) return;
  t->installing = false;
  link_installed(t->link);
}

static void on_out(void *ctx, str bytes) {
  struct stdio *t = ctx;
  link_enter(t->link);
  if (t->child) child_serves(t->child);  // `child` is NULL if the program has ended: these bytes are its last output
  installed(t);
  if (!lines_feed(&t->out_lines, bytes)) link_overlong(t->link, (str){t->out_lines.head, t->out_lines.head_n});
  bulk_set(&t->hold, t->out_lines.carry.n);
  link_leave(t->link);
}

static void on_out_end(void *ctx, const struct fault *f) {
  struct stdio *t = ctx;
  stream_close(&t->out);
  if (t->exited && !t->err) ended(t);
  else ending(t, "closed its output");
}

// How precisely a line names the cause of a failure, in ascending order.
enum line_rank { LINE_OTHER, LINE_OF_ERROR, LINE_OF_CAUSE, LINE_OF_REASON };

static bool has_one_of(str line, const str *words, size_t count) {
  for (size_t at = 0; at < line.n; at++)
    for (size_t i = 0; i < count; i++)
      if (line.n - at >= words[i].n && str_eq_nocase((str){line.p + at, words[i].n}, words[i])) return true;
  return false;
}

// Returns whether a line belongs to a stack trace or a help text. Programs often print these last. Their lines may
// contain "error" or "required" without naming the cause.
static bool is_frame(str line) {
  static const str begins[] = {STR("at "),        STR("File \""), STR("Node.js v"), STR("Traceback "),
                               STR("goroutine "), STR("-"),       STR("#"),         STR("Usage")};
  line = str_trim(line);
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (str_starts(line, begins[i])) return true;
  return false;
}

// Returns whether a line contains "Error: " or "Exception: " (as in "ModuleNotFoundError: …"), or words for something
// missing or forbidden.
static bool is_of_cause(str line) {
  static const str exceptions[] = {STR("error: "), STR("exception: ")};
  static const str words[] = {STR("cannot find"), STR("not found"), STR("no such file"), STR("ENOENT"),
                              STR("EACCES"),      STR("denied"),    STR("missing"),      STR("required"),
                              STR("must be set"), STR("not set"),   STR("must provide"), STR("no module named")};
  return has_one_of(line, exceptions, 2) || has_one_of(line, words, sizeof words / sizeof *words);
}

// Ranks a stderr line of npm, which starts many servers. npm marks all these lines as errors: a code, details, the
// reason, advice, and the path of its log.
static enum line_rank npm_report(str said) {
  static const str particulars[] = {STR("syscall "), STR("path "),          STR("dest "),
                                    STR("errno "),   STR("A complete log"), STR("Log files were not written")};
  str words, rest;
  if (str_starts(said, STR("code "))) return LINE_OF_ERROR;
  for (size_t i = 0; i < sizeof particulars / sizeof *particulars; i++)
    if (str_starts(said, particulars[i])) return LINE_OTHER;
  return str_cut(str_trim(said), ' ', &words, &rest) ? LINE_OF_REASON : LINE_OTHER;
}

static enum line_rank rank_of(str line) {
  static const str npm[] = {STR("npm error "), STR("npm ERR! ")};
  for (size_t i = 0; i < sizeof npm / sizeof *npm; i++)
    if (str_starts(line, npm[i])) return npm_report(str_from(line, npm[i].n));
  static const str words[] = {STR("error"), STR("exception"), STR("fatal"), STR("panic")};
  if (is_frame(line)) return LINE_OTHER;
  if (is_of_cause(line)) return LINE_OF_CAUSE;
  return has_one_of(line, words, sizeof words / sizeof *words) ? LINE_OF_ERROR : LINE_OTHER;
}

// Stores a stderr line as the last words. A stored line with a higher rank, or with the rank LINE_OF_REASON, is kept
// for LINES_AFTER further lines; after that, any line replaces it.
static void note_words(struct stdio *t, str line) {
  enum { LINES_AFTER = 100, LOOKED_AT = 512 };
  enum line_rank rank = rank_of((str){line.p, line.n < LOOKED_AT ? line.n : LOOKED_AT});
  bool less = rank < t->words_rank || t->words_rank == LINE_OF_REASON;
  if (less && t->behind++ < LINES_AFTER) return;
  t->words_rank = rank;
  t->behind = 0;
  link_said(t->link, line);
}

static void keep_line(struct stdio *t, str line) {
  struct loop *loop = t->link->opt.loop;
  unsigned suppressed;
  note_words(t, line);
  if (t->link->opt.tail) tail_add(t->link->opt.tail, clock_wall_ms(loop->clock), line);
  if (!rate_allow(&t->err_rate, loop_now(loop), STDERR_PER_SECOND, &suppressed)) return;
  if (suppressed)
    log_info(loop->log, "%.*s: %u more lines of stderr were not logged", STR_ARG(t->link->opt.name), suppressed);
  log_info(loop->log, "%.*s: %.*s", STR_ARG(t->link->opt.name), STR_ARG(line));
}

// Logs a line of stderr. Masks secrets, because programs write their environment, configuration and failed requests to
// stderr.
static void on_err_line(void *ctx, str line) {
  struct stdio *t = ctx;
  struct arena a;
  arena_init(&a);
  keep_line(t, secrets_mask_line(&t->err_secrets, &a, line, t->link->opt.secrets));
  arena_done(&a);
}

static void on_err(void *ctx, str bytes) {
  struct stdio *t = ctx;
  lines_feed(&t->err_lines, bytes);
}

static void on_err_end(void *ctx, const struct fault *f) {
  struct stdio *t = ctx;
  stream_close(&t->err);
  if (t->exited && !t->out) ended(t);
}

static void on_in_data(void *ctx, str bytes) {
}

static void on_in_end(void *ctx, const struct fault *f) {
  struct stdio *t = ctx;
  close_in(t);
  ending(t, "closed its input");
}

// ---- the process

static void on_start(void *ctx, struct child *c, int in, int out, int err) {
  static const struct stream_events in_events = {on_in_data, on_in_end, NULL};
  static const struct stream_events out_events = {on_out, on_out_end, NULL};
  static const struct stream_events err_events = {on_err, on_err_end, NULL};
  struct stdio *t = ctx;
  struct fault f;
  t->in_fd = in;
  t->in = stream_open_fd(t->link->opt.loop, in, QUEUE_MAX, &f);
  t->out = stream_open_fd(t->link->opt.loop, out, 0, &f);
  t->err = stream_open_fd(t->link->opt.loop, err, 0, &f);
  link_enter(t->link);
  if (t->in && t->out && t->err) {
    stream_start(t->in, &in_events, t);
    stream_start(t->out, &out_events, t);
    stream_start(t->err, &err_events, t);
    link_connected(t->link);
  } else {
    if (!t->in) close(in);
    if (!t->out) close(out);
    if (!t->err) close(err);
    link_broken(t->link, &f);
  }
  link_leave(t->link);
}

static void on_fail(void *ctx, struct child *c, const struct fault *f) {
  struct stdio *t = ctx;
  child_free(&t->child, 0);
  link_enter(t->link);
  link_broken(t->link, f);
  link_leave(t->link);
}

static void on_exit_status(void *ctx, struct child *c, int status) {
  struct stdio *t = ctx;
  child_free(&t->child, 0);
  ending(t, "");
  t->exited = true;
  if (status > 128) fault_set(&t->why, FAULT_UPSTREAM_UNAVAILABLE, "was ended by signal %d", status - 128);
  else fault_set(&t->why, FAULT_UPSTREAM_UNAVAILABLE, "exited with status %d", status);
  if (!t->out && !t->err) ended(t);
}

static void on_serving(void *ctx, struct child *c) {
  struct stdio *t = ctx;
  link_enter(t->link);
  installed(t);
  link_leave(t->link);
}

// ---- the transport

static void stdio_open(struct link *l) {
  static const struct child_events events = {on_start, on_fail, on_exit_status, on_serving};
  struct stdio *t = l->transport;
  t->child = child_spawn(t->host, &t->spec, &events, t);
}

static void stdio_send(struct link *l, str message, struct link_call *call, str method) {
  struct stdio *t = l->transport;
  if (!t->in) return;
  buf_str(&t->outbox, lines_flatten(message, &t->flat));
  buf_char(&t->outbox, '\n');
  loop_defer(l->opt.loop, &t->flush);
}

// Sends the requests of all clients from one turn of the event loop with a single write, which wakes the server only
// once.
static void on_flush(struct deferred *d) {
  struct stdio *t = CONTAINER_OF(d, struct stdio, flush);
  if (!t->in) return;
  str batch = buf_view(&t->outbox);
  uint64_t batch_n = batch.n;
  bool ok = !t->outbox.over && stream_write(t->in, &batch, 1);
  buf_reset(&t->outbox);
  buf_trim(&t->outbox, KEEP_OUTBOX);
  if (ok) t->sent += batch_n;
  if (ok) return;
  close_in(t);
  ending(t, "does not read its input");
}

static void stdio_confirm(struct link *l, str message) {
  if (message.n) stdio_send(l, message, NULL, STR_NONE);
  link_confirmed(l);
}

static void stdio_forget(struct link *l, struct link_call *call, bool answered) {
}

static void update_flow(struct stdio *t) {
  if (!t->out) return;
  if (t->held_back || t->hold.stopped) stream_pause(t->out);
  else stream_resume(t->out);
}

static void stdio_flow(struct link *l, bool go) {
  struct stdio *t = l->transport;
  t->held_back = !go;
  update_flow(t);
}

static void on_bulk_flow(struct bulk_hold *h, bool go) {
  update_flow(CONTAINER_OF(h, struct stdio, hold));
}

static void on_bulk_given_up(struct bulk_hold *h) {
  struct stdio *t = CONTAINER_OF(h, struct stdio, hold);
  struct link *l = t->link;
  if (t->held_back) return;
  link_enter(l);
  fail(t, FAULT_UPSTREAM_ERROR, "stopped sending in the middle of a large message while other messages were waiting");
  link_leave(l);
}

static void stdio_close(struct link *l) {
  struct stdio *t = l->transport;
  timer_stop(&t->settle);
  on_flush(&t->flush);
  timer_stop(&t->settle);
  // Closing stdin asks the server to end; a server that does not end gets signals. A launcher that is installing a
  // program does not read stdin, so it gets time to clean up.
  stream_close_flushed(&t->in, LEAVE_MS);
  stream_close(&t->out);
  stream_close(&t->err);
  if (t->installing) child_free(&t->child, CHILD_INSTALL_GRACE_MS);
  else child_leave(&t->child, LEAVE_MS, TERM_MS);
  deferred_cancel(&t->flush);
  buf_done(&t->outbox);
  buf_done(&t->flat);
  bulk_set(&t->hold, 0);
  lines_done(&t->out_lines);
  lines_done(&t->err_lines);
  mem_free(t);
}

static int stdio_pid(const struct link *l) {
  const struct stdio *t = l->transport;
  return t->child ? child_pid(t->child) : 0;
}

struct link *link_new_stdio(const struct link_options *opt, struct child_host *host, const struct child_spec *spec,
                            const struct link_events *ev, void *ctx) {
  static const struct link_transport ops = {false,        stdio_open, stdio_send,  stdio_confirm,
                                            stdio_forget, stdio_flow, stdio_close, stdio_pid};
  struct stdio *t = MEM_NEW(struct stdio);
  t->host = host;
  t->spec = *spec;
  t->installing = spec->launcher;
  timer_init(&t->settle, on_settled);
  buf_init(&t->flat, opt->max_message + 65536);
  buf_init(&t->outbox, QUEUE_MAX + opt->max_message);
  deferred_init(&t->flush, on_flush);
  bulk_hold_init(&t->hold, &opt->loop->bulk, on_bulk_flow, on_bulk_given_up);
  lines_init(&t->out_lines, opt->max_message, on_out_line, t);
  lines_init(&t->err_lines, STDERR_LINE, on_err_line, t);
  t->link = link_new(opt, &ops, t, ev, ctx);
  return t->link;
}

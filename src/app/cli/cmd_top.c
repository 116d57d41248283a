// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "app/gateway_client/console.h"
#include "base/mem.h"

static const struct command command = {
    .usage = "[options]",
    .about = "Shows the activity of the servers of a running gateway, once a second, the busiest\n"
             "first: calls per second, median and 95th percentile of the latency, errors, and calls\n"
             "in flight. q or Ctrl-C exits. Without a terminal it prints once.",
    .options = "0cmuCW",
};

enum { TICK_MS = 1000, MAX_OUTPUT = 1 << 20, MOST_ROWS = 256, CTRL_C = 3 };

struct top_row {
  str name, state;
  uint64_t calls, rate, errors, in_flight, queued, p50_us, p95_us;
};

// The values of all servers from one poll of the gateway.
struct top_sample {
  struct arena arena;
  struct top_row rows[MOST_ROWS];
  size_t count;
};

// ---- the table

static uint64_t calls_before(const struct top_sample *before, str name, uint64_t now) {
  for (size_t i = 0; i < before->count; i++)
    if (str_eq(before->rows[i].name, name)) return before->rows[i].calls <= now ? before->rows[i].calls : 0;
  return now;
}

static int busiest_first(const void *a, const void *b) {
  const struct top_row *x = a, *y = b;
  if (x->rate != y->rate) return x->rate > y->rate ? -1 : 1;
  if (x->in_flight != y->in_flight) return x->in_flight > y->in_flight ? -1 : 1;
  if (x->calls != y->calls) return x->calls > y->calls ? -1 : 1;
  return str_cmp(x->name, y->name);
}

static void take(struct top_sample *l, const struct json *servers, const struct top_sample *before) {
  l->count = 0;
  if (!json_is(servers, JSON_ARRAY)) return;
  JSON_EACH(it, servers) {
    if (l->count == MOST_ROWS) break;
    struct top_row *r = &l->rows[l->count++];
    *r = (struct top_row){
        .name = console_text(it, "name", &l->arena),
        .state = console_text(it, "state", &l->arena),
        .calls = console_number(it, "calls"),
        .errors = console_number(it, "errors"),
        .in_flight = console_number(it, "in_flight"),
        .queued = console_number(it, "queued"),
        .p50_us = console_number(it, "p50_us"),
        .p95_us = console_number(it, "p95_us"),
    };
    r->rate = r->calls - calls_before(before, r->name, r->calls);
  }
  qsort(l->rows, l->count, sizeof *l->rows, busiest_first);
}

static void put_ms(struct buf *out, uint64_t us) {
  if (us) buf_printf(out, "  %7llu.%llu", (unsigned long long)us / 1000, (unsigned long long)us / 100 % 10);
  else buf_printf(out, "  %9s", "-");
}

static void put_table(struct buf *out, const struct top_sample *l, const struct json *status, struct arena *a) {
  const struct json *clients = json_get(status, STR("clients"));
  int width = console_name_width(json_get(status, STR("servers")), a);
  buf_printf(out, "toolgate, pid %llu, up %.*s, %u client%s, %zu servers\n\n",
             (unsigned long long)console_number(status, "pid"),
             STR_ARG(console_span(a, console_number(status, "now_ms") - console_number(status, "since_ms"))),
             clients ? clients->count : 0, clients && clients->count == 1 ? "" : "s", l->count);
  buf_printf(out, "%-*s  state       calls/s     calls     p50 ms     p95 ms    errors  in flight  queued\n", width,
             "server");
  for (size_t i = 0; i < l->count; i++) {
    const struct top_row *r = &l->rows[i];
    buf_printf(out, "%-*.*s  %-10.*s  %7llu  %8llu", width, STR_ARG(r->name), STR_ARG(r->state),
               (unsigned long long)r->rate, (unsigned long long)r->calls);
    put_ms(out, r->p50_us);
    put_ms(out, r->p95_us);
    buf_printf(out, "  %8llu  %9llu  %6llu\n", (unsigned long long)r->errors, (unsigned long long)r->in_flight,
               (unsigned long long)r->queued);
  }
}

// ---- the terminal

static bool prepare_terminal(struct termios *out_before) {
  if (tcgetattr(STDIN_FILENO, out_before) != 0) return false;
  struct termios raw = *out_before;
  raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG);  // Ctrl-C is read as a key, so the terminal can be restored
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  return tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

// Waits until the next poll is due. Returns false if the user pressed a key to exit.
static bool wait_for_next(bool keys) {
  struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
  char key;
  if (poll(&p, keys ? 1 : 0, TICK_MS) <= 0) return true;
  return read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 'Q' && key != CTRL_C;
}

static bool look(struct console *c, struct top_sample *now, const struct top_sample *before, struct buf *out,
                 struct fault *f) {
  ASSERT(now != before);
  arena_reset(&now->arena);
  const struct json *status = control_client_request(c->gateway, &now->arena, STR("toolgate/status"), STR_NONE, f);
  if (!status) return false;
  take(now, json_get(status, STR("servers")), before);
  buf_reset(out);
  put_table(out, now, status, &now->arena);
  return true;
}

// Polls the gateway and prints a table after each poll. With `once`, prints only the second table, because a rate needs
// two polls.
static bool run(struct console *c, bool once, bool keys, struct fault *f) {
  struct top_sample *looks = mem_zero(2 * sizeof *looks);
  struct buf out;
  bool ok = true;
  buf_init(&out, MAX_OUTPUT);
  arena_init(&looks[0].arena);
  arena_init(&looks[1].arena);
  for (unsigned i = 0; (ok = look(c, &looks[i % 2], &looks[(i + 1) % 2], &out, f)); i++) {
    if (!once) fputs("\x1b[H\x1b[2J", stdout);
    if (!once || i == 1) command_print(buf_view(&out));
    fflush(stdout);
    if ((once && i == 1) || !wait_for_next(keys)) break;
  }
  arena_done(&looks[0].arena);
  arena_done(&looks[1].arena);
  buf_done(&out);
  mem_free(looks);
  return ok;
}

int cmd_top(int argc, char **argv) {
  struct arguments args = {0};
  struct console c;
  struct termios before;
  struct fault f;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (!console_open(&c, &args.config, &status)) return status;
  bool once = args.once || !isatty(STDOUT_FILENO), keys = !once && prepare_terminal(&before);
  bool ok = run(&c, once, keys, &f);
  if (keys) tcsetattr(STDIN_FILENO, TCSANOW, &before);
  if (!ok) fprintf(stderr, "toolgate: %s\n", f.message);
  console_close(&c);
  return ok ? EXIT_OK : EXIT_CANNOT;
}

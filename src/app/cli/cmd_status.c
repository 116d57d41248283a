// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "app/gateway_client/console.h"
#include "io/process/proctree.h"
#include "json/write.h"

static const struct command command = {
    .usage = "[options]",
    .about = "Shows the running gateway that serves this configuration: its clients, and for each\n"
             "server the state, processes, memory, calls and errors. Starts nothing. Exit code 3: no\n"
             "such gateway runs.",
    .options = "cmuCWj",
};

enum { MAX_OUTPUT = 64 << 20 };

static struct proctree_size processes_of(const struct json *server) {
  const struct json *pids = json_get(server, STR("pids"));
  struct proctree_size sum = {0};
  int64_t pid;
  if (json_is(pids, JSON_ARRAY))
    JSON_EACH(it, pids) {
      bool known = json_int(it, &pid) && pid > 0 && pid <= INT32_MAX;
      struct proctree_size one = known ? proctree_size((pid_t)pid) : (struct proctree_size){0};
      sum.count += one.count;
      sum.bytes += one.bytes;
    }
  return sum;
}

// ---- text

static void put_head(struct buf *out, struct arena *a, const struct json *s) {
  uint64_t up_ms = console_number(s, "now_ms") - console_number(s, "since_ms");
  str url = console_text(s, "url", a);
  buf_printf(out, "toolgate %.*s, pid %llu, up %.*s, mode %.*s, %.*s\n", STR_ARG(console_text(s, "version", a)),
             (unsigned long long)console_number(s, "pid"), STR_ARG(console_span(a, up_ms)),
             STR_ARG(console_text(s, "mode", a)), STR_ARG(url.n ? url : console_text(s, "transport", a)));
  const struct json *files = json_get(s, STR("files"));
  if (json_is(files, JSON_OBJECT))
    JSON_EACH(it, files) {
      str path = STR_NONE, key = json_key(it, a);
      json_string(it, a, &path);
      buf_printf(out, "  %-8.*s  %.*s\n", STR_ARG(key), STR_ARG(path));
    }
  str stale = console_text(s, "stale", a);
  if (stale.n) buf_printf(out, "  the files have changed and were rejected: %.*s\n", STR_ARG(stale));
}

// Writes a line if the definitions of tools differ from the accepted ones (pins).
static void put_pins(struct buf *out, const struct json *pins) {
  static const char *const states[] = {"changed", "new", "suspect"};
  size_t put = 0;
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    uint64_t count = console_number(pins, states[i]);
    if (count) buf_printf(out, "%s%llu %s", put++ ? ", " : "  tools to review: ", (unsigned long long)count, states[i]);
  }
  if (put) buf_str(out, STR("; see \"toolgate pins diff\"\n"));
}

static void put_client(struct buf *out, struct arena *a, const struct json *c, uint64_t now_ms) {
  str name = console_line(console_text(c, "name", a), a), agent = console_text(c, "agent", a);
  uint64_t busy = console_number(c, "in_flight");
  buf_printf(out, "  %.*s %.*s, MCP %.*s, mode %.*s", STR_ARG(name.n ? name : STR("(no name)")),
             STR_ARG(console_line(console_text(c, "version", a), a)), STR_ARG(console_text(c, "revision", a)),
             STR_ARG(console_text(c, "mode", a)));
  if (agent.n) buf_printf(out, ", agent %.*s", STR_ARG(agent));
  buf_printf(out, ", since %.*s", STR_ARG(console_span(a, now_ms - console_number(c, "since_ms"))));
  if (busy) buf_printf(out, ", %llu request%s in flight", (unsigned long long)busy, busy == 1 ? "" : "s");
  buf_char(out, '\n');
}

static void put_server(struct buf *out, struct arena *a, const struct json *s, int width) {
  struct proctree_size p = processes_of(s);
  str error = console_text(s, "error", a), last = console_text(s, "last_error", a), said = console_text(s, "said", a);
  buf_printf(out, "  %-*.*s  %-10.*s  %-9.*s  %5llu  %9zu  %6llu MB  %6llu  %6llu  %8llu\n", width,
             STR_ARG(console_text(s, "name", a)), STR_ARG(console_text(s, "state", a)),
             STR_ARG(console_text(s, "transport", a)), (unsigned long long)console_number(s, "tools"), p.count,
             (unsigned long long)(p.bytes >> 20), (unsigned long long)console_number(s, "calls"),
             (unsigned long long)console_number(s, "errors"), (unsigned long long)console_number(s, "restarts"));
  str progress = console_text(s, "progress", a);
  if (progress.n) buf_printf(out, "    %.*s\n", STR_ARG(progress));
  else if (error.n || last.n)
    buf_printf(out, "    %s%.*s%s%.*s\n", error.n ? "" : "last error: ", STR_ARG(error.n ? error : last),
               said.n ? "; it said: " : "", STR_ARG(said));
}

static void put_text(struct buf *out, struct arena *a, const struct json *s, unsigned others) {
  const struct json *clients = json_get(s, STR("clients")), *servers = json_get(s, STR("servers"));
  put_head(out, a, s);
  if (others)
    buf_printf(out, "  %u other gateway%s serve%s the same files; this is the newest\n", others, others == 1 ? "" : "s",
               others == 1 ? "s" : "");
  put_pins(out, json_get(s, STR("pins")));
  buf_printf(out, "\nclients: %u\n", clients ? clients->count : 0);
  if (json_is(clients, JSON_ARRAY))
    JSON_EACH(it, clients) put_client(out, a, it, console_number(s, "now_ms"));
  int width = console_name_width(servers, a);
  buf_printf(out, "\nservers: %u\n", servers ? servers->count : 0);
  buf_printf(out, "  %-*s  state       transport  tools  processes     memory   calls  errors  restarts\n", width,
             "name");
  if (json_is(servers, JSON_ARRAY))
    JSON_EACH(it, servers) put_server(out, a, it, width);
}

// ---- JSON

// Writes the gateway's answer. Adds `processes` and `memory_bytes` to each server, which this command reads from the
// system.
static void put_json(struct buf *out, struct arena *a, const struct json *s, unsigned others) {
  const struct json *servers = json_get(s, STR("servers"));
  struct buf list;
  buf_init(&list, MAX_OUTPUT);
  struct json_writer w = json_writer(&list);
  json_begin_array(&w);
  if (json_is(servers, JSON_ARRAY))
    JSON_EACH(it, servers) {
      struct proctree_size p = processes_of(it);
      struct json_edit edits[] = {
          {STR("processes"), arena_printf(a, "%zu", p.count)},
          {STR("memory_bytes"), arena_printf(a, "%llu", (unsigned long long)p.bytes)},
      };
      json_put_raw(&w, json_edited(a, it, edits, 2));
    }
  json_end_array(&w);
  struct json_edit edits[] = {
      {STR("servers"), buf_view(&list)},
      {STR("other_gateways"), arena_printf(a, "%u", others)},
  };
  json_copy_edited(out, s, edits, 2);
  buf_char(out, '\n');
  buf_done(&list);
}

int cmd_status(int argc, char **argv) {
  struct arguments args = {0};
  struct console c;
  struct fault f;
  struct buf out;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (!console_open(&c, &args.config, &status)) return status;
  const struct json *said = control_client_request(c.gateway, &c.arena, STR("toolgate/status"), STR_NONE, &f);
  if (!said) {
    fprintf(stderr, "toolgate: %s\n", f.message);
    console_close(&c);
    return EXIT_CANNOT;
  }
  buf_init(&out, MAX_OUTPUT);
  if (args.json) put_json(&out, &c.arena, said, control_client_others(c.gateway));
  else put_text(&out, &c.arena, said, control_client_others(c.gateway));
  command_print_done(&out);
  console_close(&c);
  return EXIT_OK;
}

// SPDX-License-Identifier: Apache-2.0
#include "app/gateway_client/console.h"

#include <stdio.h>
#include <unistd.h>

enum { NARROWEST = 4, WIDEST = 40, TIMEOUT_MS = 10000 };

bool console_open(struct console *c, const struct config_options *said, int *out_status) {
  struct config_options opt = *said;
  struct config_problems problems;
  struct config config;
  struct fault f;
  opt.transport = "stdio";  // this command opens no listener, so its address is not checked
  opt.servers_optional = true;
  config_problems_init(&problems);
  bool ok = config_load(&config, &opt, environ, &problems);
  if (!ok) command_print_problems(&problems);
  *out_status = config_problems_status(&problems);
  config_problems_done(&problems);
  ok |= config.broken;
  c->gateway = ok ? control_client_open(&config, environ, &(struct session_operator){0}, STR_NONE, &f) : NULL;
  bool broken = config.broken;
  config_done(&config);
  if (!ok || (broken && !c->gateway && f.code == FAULT_NOT_FOUND)) return false;
  if (c->gateway) {
    arena_init(&c->arena);
    control_client_set_timeout(c->gateway, TIMEOUT_MS);
    if (broken) control_client_warn_broken(c->gateway);
    *out_status = EXIT_OK;
    return true;
  }
  *out_status = command_failed(&f, EXIT_CANNOT);
  return false;
}

void console_close(struct console *c) {
  control_client_close(&c->gateway);
  arena_done(&c->arena);
}

str console_text(const struct json *v, const char *key, struct arena *a) {
  str text = STR("");
  json_string(json_get(v, str_of(key)), a, &text);
  return text;
}

uint64_t console_number(const struct json *v, const char *key) {
  int64_t number = 0;
  json_int(json_get(v, str_of(key)), &number);
  return number > 0 ? (uint64_t)number : 0;
}

str console_line(str text, struct arena *a) {
  char *copy = arena_cstr(a, text);
  str_mask_controls(copy, text.n);
  return (str){copy, text.n};
}

str console_span(struct arena *a, uint64_t ms) {
  unsigned long long s = ms / 1000;
  if (s < 60) return arena_printf(a, "%llu s", s);
  if (s < 3600) return arena_printf(a, "%llu min", s / 60);
  if (s < 24 * 3600) return arena_printf(a, "%llu h %llu min", s / 3600, s / 60 % 60);
  return arena_printf(a, "%llu d %llu h", s / 86400, s / 3600 % 24);
}

int console_name_width(const struct json *servers, struct arena *a) {
  size_t width = NARROWEST;
  if (!json_is(servers, JSON_ARRAY)) return NARROWEST;
  JSON_EACH(it, servers) {
    size_t n = console_text(it, "name", a).n;
    if (n > width) width = n;
  }
  return width < WIDEST ? (int)width : WIDEST;
}

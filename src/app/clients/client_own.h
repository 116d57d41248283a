// SPDX-License-Identifier: Apache-2.0
// Makes Toolgate's own entry in the file of a client. An existing entry is changed only where necessary: additional
// arguments, headers and other members stay.
#pragma once
#include "app/clients/client_table.h"

// Content of Toolgate's entry. Empty strings are left out of the entry.
struct client_own {
  str program;
  str mcp_config;                // the file of servers
  str config, rules;             // absolute paths of the configuration and the rules
  bool config_said, rules_said;  // whether `config` and `rules` replace the paths in an existing entry
  str transport;                 // "stdio" if the configuration sets another transport, else empty
  str agent;                     // name of the client in the access rules
  str url;                       // if not empty: URL of a running gateway, used instead of `program`
  str token_env;                 // variable that holds the token for `url`
};

// Returns whether the file of the client can refer to an environment variable in a header.
bool client_own_takes_token(enum client_id id);

// Returns the entry as JSON text in the form of the client. `now` is the existing entry, or NULL. Returns STR_NONE if
// the client cannot connect to a URL.
str client_own_entry(struct arena *a, enum client_id id, const struct client_own *own, const struct json *now);

// Returns the path that follows --mcp-config in an entry that starts Toolgate. Returns STR_NONE if this option is
// missing or its path is relative.
str client_own_servers(struct arena *a, enum client_id id, const struct json *now);

// Returns "toolgate" if PATH finds this program under that name; otherwise the path of this program.
str client_own_program(struct arena *a, char *const *env);

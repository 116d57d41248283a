// SPDX-License-Identifier: Apache-2.0
// Toolgate's own entry in the file of a client. An entry that is there already is changed only where it must be:
// arguments, headers and other members that somebody added stay.
#pragma once
#include "app/clients/client_table.h"

// Content of the entry. Empty texts are left out.
struct client_own {
  str program;
  str mcp_config;                // the file of servers
  str config, rules;             // absolute paths
  bool config_said, rules_said;  // they replace those that the entry names
  str transport;                 // "stdio" if the gateway would start with another one
  str agent;                     // who the client is
  str url;                       // not empty: the gateway that runs there, instead of a program
  str token_env;                 // the variable that holds the token for it
};

// Returns whether the file of the client can refer to an environment variable in a header.
bool client_own_takes_token(enum client_id id);

// The entry as JSON text in the form of the client. `now`: the entry that is there, or NULL. STR_NONE: this client
// cannot connect to a URL.
str client_own_entry(struct arena *a, enum client_id id, const struct client_own *own, const struct json *now);

// The file after --mcp-config in an entry that starts Toolgate, if it is an absolute path; else STR_NONE.
str client_own_servers(struct arena *a, enum client_id id, const struct json *now);

// The path of this program; "toolgate" when that is what PATH leads to.
str client_own_program(struct arena *a, char *const *env);

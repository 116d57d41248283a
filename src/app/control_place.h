// SPDX-License-Identifier: Apache-2.0
// Finds the control sockets of running gateways: gateway-ID-PID.sock in the state folder or, without a state folder, in
// $XDG_RUNTIME_DIR/toolgate. ID identifies the configuration: gateways and commands that read the same files have the
// same ID.
#pragma once
#include <sys/un.h>

#include "app/config/config.h"

enum { CONTROL_ID = 12, CONTROL_NAME = 64, CONTROL_MOST = 64 };

// Computes the ID: a hash of the canonical paths of the configuration, servers, rules, catalog and state folder.
void control_id(const struct config *c, char out[CONTROL_ID + 1]);

// Opens the folder of the sockets and returns its descriptor. If `make` is set, creates a missing folder with mode
// 0700. On failure returns -1, with the reason in `f`.
int control_folder(const struct config *c, char *const *env, bool make, struct fault *f);

void control_name(const char *id, int pid, char out[CONTROL_NAME]);

// Returns the address of a socket in an open folder. The address refers to the folder by its descriptor, because the
// folder's path could be too long for an address.
struct sockaddr_un control_address(int folder, const char *name);

struct control_socket {
  char name[CONTROL_NAME];
  int pid;
  int64_t made_ns;  // time of creation, in nanoseconds since 1970
  bool ours;        // the gateway of this socket has the given id
};

// Lists the sockets in a folder, the newest first, at most CONTROL_MOST. Returns their number.
size_t control_list(int folder, const char *id, struct control_socket out[CONTROL_MOST]);

// Connects to a socket and returns the descriptor. On failure returns -1 and sets errno. If errno is ECONNREFUSED, the
// gateway has ended, and this function has removed the socket.
int control_connect(int folder, const struct control_socket *s);

// Returns whether the process at the other end of the connection runs as our user or as root.
bool control_trusts(int fd);

// Returns the id of the process that called connect or listen at the other end of the connection; 0 if the id is
// unknown or the process is in another namespace.
int control_peer(int fd);
// Returns false if the process at the other end of the connection has ended: another process may then have its id.
// Returns true if the process lives, or if the kernel does not support this check.
bool control_peer_lives(int fd);

// SPDX-License-Identifier: Apache-2.0
// Where running gateways can be asked: sockets gateway-ID-PID.sock in the state folder, or, without one, in
// $XDG_RUNTIME_DIR/toolgate. ID names the configuration: equal for gateways and commands that read the same files.
#pragma once
#include <sys/un.h>

#include "app/config/config.h"

enum { CONTROL_ID = 12, CONTROL_NAME = 64, CONTROL_MOST = 64 };

// Made of the canonical paths of the configuration, the servers, the rules and the catalog, and of the state folder.
void control_id(const struct config *c, char out[CONTROL_ID + 1]);

// Opens the folder that sockets are in, made (0700) if need be and asked for. -1: f says why it cannot be used.
int control_folder(const struct config *c, char *const *env, bool make, struct fault *f);

void control_name(const char *id, int pid, char out[CONTROL_NAME]);

// Returns the address of a socket in an open folder. It names the descriptor, so that no path is too long.
struct sockaddr_un control_address(int folder, const char *name);

struct control_socket {
  char name[CONTROL_NAME];
  int pid;
  int64_t made_ns;  // when, since 1970
  bool ours;        // it is of a gateway with this id
};

// The sockets in a folder, the newest first; at most CONTROL_MOST. Gives their number.
size_t control_list(int folder, const char *id, struct control_socket out[CONTROL_MOST]);

// Connects to one. -1: errno says why; ECONNREFUSED: nobody listens any more, and the socket was removed.
int control_connect(int folder, const struct control_socket *s);

// Whether the process at the other end runs as our user, or as root.
bool control_trusts(int fd);

// The process at the other end, which has called connect or listen; 0: it is in another namespace, or unknown.
int control_peer(int fd);
// False: that process has ended, and its id may be that of another one. True where the kernel cannot tell.
bool control_peer_lives(int fd);

// SPDX-License-Identifier: Apache-2.0
// TLS for outgoing connections: runs OpenSSL on byte buffers, without I/O. Always verifies certificates and names
// against the system's store (respects SSL_CERT_FILE and SSL_CERT_DIR). Requires TLS 1.2 or later.
#pragma once
#include "base/buf.h"
#include "base/fault.h"
#include "base/str.h"

struct tls_client;  // TLS settings for all connections of the process; must outlive every tls_session made with it

struct tls_client *tls_client_new(struct fault *f);
void tls_client_free(struct tls_client **c);

// The TLS state of one connection. Converts between plaintext and the bytes to receive and send.
struct tls_session;

// Creates a session. `host`: name or numeric address for which the server's certificate must be valid.
struct tls_session *tls_session_new(struct tls_client *c, str host);
void tls_session_free(struct tls_session **s);

enum tls_state { TLS_HANDSHAKE, TLS_OPEN, TLS_CLOSED, TLS_FAILED };

// Decrypts `cipher`: appends plaintext to `plain` and bytes to send (including alerts) to `wire`. The first call, with
// an empty `cipher`, starts the handshake. Returns TLS_CLOSED if the peer has ended the session. On an error, returns
// TLS_FAILED with a reason in f.
enum tls_state tls_session_feed(struct tls_session *s, str cipher, struct buf *plain, struct buf *wire,
                                struct fault *f);

// Encrypts `plain` to `wire`. Fails if the session is not open or `wire` is full: `wire` needs room for the plaintext
// plus about 100 bytes per 16 KiB.
bool tls_session_write(struct tls_session *s, str plain, struct buf *wire, struct fault *f);

// Appends to `wire` the message that ends the session. Nothing may be written afterwards.
void tls_session_end(struct tls_session *s, struct buf *wire);

// SPDX-License-Identifier: Apache-2.0
#include "io/stream/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/assert.h"
#include "base/mem.h"

enum { PLAIN_STEP = 16384, HOST_MAX = 255 };

struct tls_client {
  SSL_CTX *ctx;
  BIO_METHOD *wire;
};

struct tls_session {
  SSL *ssl;
  enum tls_state state;
  str in;           // ciphertext that the feed in progress has not read yet
  struct buf *out;  // receives the ciphertext of the tls_session_feed or tls_session_write in progress
};

// ---- a BIO that reads from `in` and writes to `out`

// The BIO reads and writes buffers directly: OpenSSL's memory BIOs would copy once more and keep the memory.
static int wire_read(BIO *b, char *to, int n) {
  struct tls_session *s = BIO_get_data(b);
  BIO_clear_retry_flags(b);
  if (s->in.n == 0) {
    BIO_set_retry_read(b);
    return -1;
  }
  size_t take = s->in.n < (size_t)n ? s->in.n : (size_t)n;
  memcpy(to, s->in.p, take);
  s->in = str_from(s->in, take);
  return (int)take;
}

static int wire_write(BIO *b, const char *p, int n) {
  struct tls_session *s = BIO_get_data(b);
  buf_add(s->out, p, (size_t)n);
  return s->out->over ? -1 : n;
}

static long wire_ctrl(BIO *b, int cmd, long num, void *ptr) {
  return cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *wire_method(void) {
  BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "toolgate wire");
  ASSERT(m);
  BIO_meth_set_read(m, wire_read);
  BIO_meth_set_write(m, wire_write);
  BIO_meth_set_ctrl(m, wire_ctrl);
  return m;
}

// ---- the context

static bool set_up(SSL_CTX *ctx) {
  static const unsigned char http11[] = "\x08http/1.1";
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 && SSL_CTX_set_default_verify_paths(ctx) == 1 &&
         SSL_CTX_set_alpn_protos(ctx, http11, sizeof http11 - 1) == 0;
}

static const char *openssl_reason(void) {
  const char *reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason ? reason : "unknown reason";
}

struct tls_client *tls_client_new(struct fault *f) {
  ERR_clear_error();
  SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
  if (!ctx || !set_up(ctx)) {
    fault_set(f, FAULT_IO, "cannot set up TLS: %s", openssl_reason());
    SSL_CTX_free(ctx);
    return NULL;
  }
  struct tls_client *c = MEM_NEW(struct tls_client);
  *c = (struct tls_client){ctx, wire_method()};
  return c;
}

void tls_client_free(struct tls_client **pc) {
  struct tls_client *c = *pc;
  *pc = NULL;
  if (!c) return;
  SSL_CTX_free(c->ctx);
  BIO_meth_free(c->wire);
  mem_free(c);
}

// ---- a session

// Sets the name that the server's certificate must have. Replaces a name that is too long with one that no certificate
// can match, so that the connection is refused.
static void expect_host(SSL *ssl, str host) {
  char name[HOST_MAX + 1] = "host name too long.invalid";
  if (host.n <= HOST_MAX) {
    memcpy(name, host.p, host.n);
    name[host.n] = 0;
  }
  X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
  if (X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1) return;
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  ASSERT(X509_VERIFY_PARAM_set1_host(param, name, 0) == 1);
  ASSERT(SSL_set_tlsext_host_name(ssl, name) == 1);
}

struct tls_session *tls_session_new(struct tls_client *c, str host) {
  struct tls_session *s = MEM_NEW(struct tls_session);
  s->ssl = SSL_new(c->ctx);
  BIO *wire = BIO_new(c->wire);
  ASSERT(s->ssl && wire);
  BIO_set_data(wire, s);
  BIO_set_init(wire, 1);
  SSL_set_bio(s->ssl, wire, wire);
  SSL_set_connect_state(s->ssl);
  expect_host(s->ssl, host);
  return s;
}

void tls_session_free(struct tls_session **ps) {
  struct tls_session *s = *ps;
  *ps = NULL;
  if (!s) return;
  SSL_free(s->ssl);
  mem_free(s);
}

static void explain(const struct tls_session *s, struct fault *f) {
  long verdict = SSL_get_verify_result(s->ssl);
  if (verdict != X509_V_OK)
    fault_set(f, FAULT_IO, "the server's certificate was refused: %s", X509_verify_cert_error_string(verdict));
  else if (s->state == TLS_HANDSHAKE && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_WRONG_VERSION_NUMBER)
    fault_set(f, FAULT_IO, "the server does not speak TLS on this port");
  else fault_set(f, FAULT_IO, "TLS failed: %s", openssl_reason());
}

// Returns the state of the session after an OpenSSL call that was not successful. `result` is the call's return value.
static enum tls_state state_after(struct tls_session *s, int result, struct fault *f) {
  int error = SSL_get_error(s->ssl, result);
  if (error == SSL_ERROR_WANT_READ) return s->state;
  if (error == SSL_ERROR_ZERO_RETURN) return TLS_CLOSED;
  explain(s, f);
  return TLS_FAILED;
}

static void shake_hands(struct tls_session *s, struct fault *f) {
  int result = SSL_do_handshake(s->ssl);
  s->state = result == 1 ? TLS_OPEN : state_after(s, result, f);
}

static void decrypt(struct tls_session *s, struct buf *plain, struct fault *f) {
  int n = 1;
  while (n > 0) {
    char *to = buf_room(plain, PLAIN_STEP);
    ASSERT(to);  // cannot fail, because `plain` has room for all bytes of one feed
    n = SSL_read(s->ssl, to, PLAIN_STEP);
    if (n > 0) plain->n += (size_t)n;
  }
  s->state = state_after(s, n, f);
}

enum tls_state tls_session_feed(struct tls_session *s, str cipher, struct buf *plain, struct buf *wire,
                                struct fault *f) {
  s->in = cipher;
  s->out = wire;
  ERR_clear_error();
  if (s->state == TLS_HANDSHAKE) shake_hands(s, f);
  if (s->state == TLS_OPEN) decrypt(s, plain, f);
  s->in = STR_NONE;
  s->out = NULL;
  return s->state;
}

bool tls_session_write(struct tls_session *s, str plain, struct buf *wire, struct fault *f) {
  if (s->state != TLS_OPEN) {
    fault_set(f, FAULT_IO, "cannot send: the TLS connection is not open");
    return false;
  }
  if (plain.n == 0) return true;
  s->out = wire;
  ERR_clear_error();
  size_t written;
  bool ok = SSL_write_ex(s->ssl, plain.p, plain.n, &written) == 1;
  s->out = NULL;
  if (!ok) fault_set(f, FAULT_IO, "TLS failed: %s", openssl_reason());
  return ok;
}

void tls_session_end(struct tls_session *s, struct buf *wire) {
  if (s->state != TLS_OPEN) return;
  s->out = wire;
  ERR_clear_error();
  SSL_shutdown(s->ssl);
  s->out = NULL;
}

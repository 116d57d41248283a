// SPDX-License-Identifier: Apache-2.0
// Sends messages of the gateway to one URL of the operator: POST requests with a JSON body, signed as the
// specification Standard Webhooks defines it. Each request has these headers:
//
//   webhook-id: msg_…            the same in every attempt to send the message
//   webhook-timestamp: SECONDS   time of the attempt, since 1970
//   webhook-signature: v1,…      base64 of HMAC-SHA256 over ID.TIMESTAMP.BODY
//
// A status 2xx means that the message was delivered. After 408, 425, 429, 5xx, or without a response, the message is
// sent again, after delays that increase from one second to about four minutes. Any other status ends the message at
// once, because redirects are not followed. Requests are sent one at a time; a message that waits for its next attempt
// does not delay other messages.
#pragma once
#include "io/loop.h"

struct tls_client;
struct webhook;

enum {
  WEBHOOK_ATTEMPTS = 6,       // maximum number of requests for one message
  WEBHOOK_QUEUE = 64,         // maximum number of messages that are not yet delivered
  WEBHOOK_BYTES = 256 << 10,  // maximum size of a body
  WEBHOOK_HEADERS = 4 << 10,  // maximum size of the further headers of a message
  WEBHOOK_MS = 10000,         // time limit of one request
};

struct webhook_options {
  struct loop *loop;
  str url;     // http or https; copied. The caller must check whether the URL may be used
  str secret;  // key of the signatures: whsec_BASE64, or any other text, whose bytes are then the key; copied
  struct tls_client *tls;  // as in struct outgoing_options
};
struct webhook *webhook_new(const struct webhook_options *opt);

// Ends all messages that are not yet delivered. Their functions must not send further messages.
void webhook_free(struct webhook **w);

size_t webhook_waiting(const struct webhook *w);  // number of messages that are not yet delivered

// Called once for each message, from the loop or by webhook_free: `why` is NULL if the message was delivered; otherwise
// it says why the last attempt failed. The function may send further messages, but must not free the webhook.
typedef void webhook_ended(void *ctx, const char *why);

// Sends a message later, from the loop. `headers` are further lines, each with CRLF, or empty. Copies the texts.
// Returns false, without a callback, if there are WEBHOOK_QUEUE messages or if the message is too large.
bool webhook_send(struct webhook *w, str headers, str body, webhook_ended *ended, void *ctx);

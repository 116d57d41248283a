// SPDX-License-Identifier: Apache-2.0
// The webhooks of a governance file: URLs that get messages for the people of a role. They are the member `webhooks`:
//
//   webhooks:
//     - { role: support_ops, url: "https://hooks.example.com/toolgate", secret_env: SUPPORT_HOOK_SECRET }
//     - { role: finance_lead, url: "http://10.0.0.7/hook", secret_file: keys/hook.secret, allow_http: true }
//
// The secrets are not in the file. They are read after it (config_webhooks.c).
#pragma once
#include "govern/govern.h"

enum { GOVERNANCE_WEBHOOKS_MAX = 100, GOVERNANCE_SECRET_MAX = 512 };

struct governance_webhook {
  str role, pointer, url;
  str secret_env, secret_file;  // names of a variable and of a file; one of them is STR_NONE
  bool allow_http;              // the URL may be an http URL of another machine
  str secret;                   // empty if it could not be read; in locked memory
  str description;
};

size_t governance_webhook_count(const struct governance *g);
const struct governance_webhook *governance_webhook_at(const struct governance *g, size_t index);

// Sets the secret of a webhook: 1 to GOVERNANCE_SECRET_MAX bytes. Must be called at most once for each webhook.
void governance_webhook_set_secret(struct governance *g, size_t index, str secret);

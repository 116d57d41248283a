// SPDX-License-Identifier: Apache-2.0
// A stateless client's roots. Servers with a session ask for them when it opens, and again when they are told that they
// changed; what they do meanwhile goes by the roots they know. So a call of a client that has roots is held back for a
// moment: until a server that is new to it has asked, and heard the answer. On a connection where another call has
// answered before, it may be another client's call: the server is told to ask anew.
#pragma once
#include "call/pipeline.h"

void roots_answered(struct call *c);  // the client of a call that was held back has answered

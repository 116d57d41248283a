// SPDX-License-Identifier: Apache-2.0
// How to see more of an answer that was cut, as a command that can be typed.
#pragma once
#include "app/cli/command.h"
#include "json/json.h"

// The line, without its end: toolgate view 'HANDLE' 'SELECTOR', with the options that lead to the same kept pieces.
// When what was cut goes with this process, since there is no folder (`lasting` false) or it cannot be written, and no
// gateway runs that has it (`running` false), the line says that there is only --full. False: nothing of this result
// was cut. What a server may have written is in it only where no shell can mistake it.
bool more_command(const struct arguments *args, bool lasting, bool running, struct arena *a, const struct json *result,
                  str *out);

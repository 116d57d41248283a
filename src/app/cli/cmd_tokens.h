// SPDX-License-Identifier: Apache-2.0
// `toolgate tokens`: the exact number of cl100k_base tokens in files.
#pragma once

// argv[0] is the name for messages. Gives the exit status.
int cmd_tokens(int argc, char **argv);

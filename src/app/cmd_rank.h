// SPDX-License-Identifier: Apache-2.0
// `toolgate rank`: ranks the tools of one file for each query of another, to measure the search.
#pragma once

// argv[0] is the name for messages. Gives the exit status.
int cmd_rank(int argc, char **argv);

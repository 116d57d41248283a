// SPDX-License-Identifier: Apache-2.0
// Exact token counts in the cl100k_base encoding, equal to those of tiktoken's encode_ordinary: text that looks like a
// special token is counted as ordinary text. The ranks are a table in the program, so no state must be created or
// freed.
//
// Accepts any bytes. Invalid UTF-8 is counted as in tiktoken: each maximal invalid part counts as U+FFFD.
#pragma once
#include "base/str.h"

size_t tokens_count(str text);

// Returns whether the text has at most `limit` tokens. Stops reading when it has more.
bool tokens_fit(str text, size_t limit);

// Writes the first `max` token ids of the text to out. Returns the number of all tokens of the text.
size_t tokens_encode(str text, uint32_t *out, size_t max);

// The memory of tokens_count_like, which counts the tokens of many similar texts, such as the lines of a log. It
// remembers the numbers of tokens of up to TOKENS_MEMO words. Must be initialised with zeros, and used by one thread at
// a time.
enum { TOKENS_MEMO = 1024, TOKENS_MEMO_WORD = 62 };
struct tokens_memo {
  struct tokens_word {
    char text[TOKENS_MEMO_WORD];  // padded with zeros
    uint8_t n, count;             // length of the word (0: unused), and its number of tokens
  } words[TOKENS_MEMO];
};
size_t tokens_count_like(struct tokens_memo *m, str text);

// SPDX-License-Identifier: Apache-2.0
#include "io/http/http.h"

enum { SIZE, SIZE_LF, DATA, DATA_CR, DATA_LF, END_CR, END_LF, DONE, BAD };

// 15 hexadecimal digits cannot overflow.
enum { MAX_DIGITS = 15 };

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static uint8_t size_byte(struct http_chunked *c, char byte) {
  int digit = hex_digit(byte);
  if (digit < 0) return byte == '\r' && c->digits ? SIZE_LF : BAD;
  if (c->digits++ == MAX_DIGITS) return BAD;
  c->left = c->left * 16 + (unsigned)digit;
  return SIZE;
}

// Returns the decoder's next state after a byte outside the data of a chunk.
static uint8_t framing_byte(struct http_chunked *c, char byte) {
  switch (c->state) {
  case SIZE: return size_byte(c, byte);
  case SIZE_LF: c->digits = 0; return byte != '\n' ? BAD : c->left ? DATA : END_CR;
  case DATA_CR: return byte == '\r' ? DATA_LF : BAD;
  case DATA_LF: return byte == '\n' ? SIZE : BAD;
  case END_CR: return byte == '\r' ? END_LF : BAD;
  case END_LF: return byte == '\n' ? DONE : BAD;
  default: return BAD;
  }
}

static str take_data(struct http_chunked *c, str *in) {
  str piece = {in->p, in->n < c->left ? in->n : (size_t)c->left};
  *in = str_from(*in, piece.n);
  c->left -= piece.n;
  if (c->left == 0) c->state = DATA_CR;
  return piece;
}

enum http_chunk_result http_chunk_next(struct http_chunked *c, str *in, str *out) {
  while (c->state < DONE && in->n) {
    if (c->state == DATA) {
      *out = take_data(c, in);
      return HTTP_CHUNK_DATA;
    }
    c->state = framing_byte(c, in->p[0]);
    *in = str_from(*in, 1);
  }
  if (c->state == DONE) return HTTP_CHUNK_DONE;
  return c->state == BAD ? HTTP_CHUNK_BAD : HTTP_CHUNK_MORE;
}

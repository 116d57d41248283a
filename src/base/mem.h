// SPDX-License-Identifier: Apache-2.0
// Heap memory, never NULL: out of memory ends the program with one line on stderr.
// Callers bound every size that outside bytes can influence.
#pragma once
#include <stddef.h>

void *mem_alloc(size_t n);          // not cleared
void *mem_zero(size_t n);           // cleared
void *mem_grow(void *p, size_t n);  // realloc
void mem_free(void *p);             // NULL is fine
void mem_trim(void);                // returns freed memory to the system

#define MEM_NEW(type) ((type *)mem_zero(sizeof(type)))

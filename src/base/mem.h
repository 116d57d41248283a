// SPDX-License-Identifier: Apache-2.0
// Heap memory. No function returns NULL: if there is no memory, the program ends with one line on stderr. Callers must
// bound every size that input from outside can influence.
#pragma once
#include <stddef.h>

void *mem_alloc(size_t n);          // not cleared
void *mem_zero(size_t n);           // cleared
void *mem_grow(void *p, size_t n);  // realloc
void mem_free(void *p);             // p may be NULL
void mem_trim(void);                // returns freed memory to the system

#define MEM_NEW(type) ((type *)mem_zero(sizeof(type)))

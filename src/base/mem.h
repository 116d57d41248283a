// SPDX-License-Identifier: Apache-2.0
// Heap memory that never comes back NULL: out of memory ends the program with one line on stderr.
// Every size that outside bytes can influence is bounded before it gets here.
#pragma once
#include <stddef.h>

void *mem_alloc(size_t n);          // not cleared
void *mem_zero(size_t n);           // cleared
void *mem_grow(void *p, size_t n);  // realloc
void mem_free(void *p);             // NULL is fine
void mem_trim(void);                // gives freed memory back to the system

#define MEM_NEW(type) ((type *)mem_zero(sizeof(type)))

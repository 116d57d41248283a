// SPDX-License-Identifier: Apache-2.0
// An intrusive doubly linked list. A node in no list points to itself, so removing a node twice is harmless.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"

struct list {
  struct list *next, *prev;
};

#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void list_init(struct list *l) {
  l->next = l->prev = l;
}
static inline bool list_empty(const struct list *l) {
  return l->next == l;
}
static inline void list_push(struct list *head, struct list *node) {  // adds at the end
  node->prev = head->prev;
  node->next = head;
  head->prev->next = node;
  head->prev = node;
}
static inline void list_remove(struct list *node) {
  ASSERT(node->prev->next == node && node->next->prev == node);
  node->prev->next = node->next;
  node->next->prev = node->prev;
  list_init(node);
}
static inline struct list *
list_pop(struct list *head) {  // removes and returns the first node; NULL if the list is empty
  struct list *n = head->next;
  if (n == head) return NULL;
  list_remove(n);
  return n;
}

// Runs the loop body for each node. The body may remove the current node `it`, but not the node after `it`, because the
// loop has already stored a pointer to that node.
#define LIST_EACH(it, head) \
  for (struct list *it = (head)->next, *it##_next = it->next; it != (head); it = it##_next, it##_next = it->next)

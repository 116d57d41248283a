// SPDX-License-Identifier: Apache-2.0
#include "io/mapped.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

// Returns this thread's counter of missing pages. The counter is thread-local because a signal handler gets no context
// argument.
static volatile sig_atomic_t *count(void) {
  static _Thread_local volatile sig_atomic_t missing;
  return &missing;
}

// Handles SIGBUS: maps a page of zeros in place of the missing page and lets the thread continue. The page is writable,
// because SQLite also writes to the file that it maps. Any other SIGBUS ends the process.
static void on_missing(int sig, siginfo_t *info, void *context) {
  uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)info->si_addr & ~(size - 1);
  void *at = (void *)page;  // NOLINT(performance-no-int-to-ptr)
  if (info->si_code == BUS_ADRERR &&
      mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
    *count() = (*count() + 1) & INT16_MAX;
    return;
  }
  signal(sig, SIG_DFL);
}

void mapped_survive(void) {
  struct sigaction action = {.sa_sigaction = on_missing, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, NULL);
}

int mapped_missing(void) {
  return *count();
}

// SPDX-License-Identifier: Apache-2.0
#include "io/mapped.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

// A page of zeros takes the place of the one that is not there, and the reader goes on. Anything else ends the process
// as it would have.
static void on_missing(int sig, siginfo_t *info, void *context) {
  uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)info->si_addr & ~(size - 1);
  void *at = (void *)page;  // NOLINT(performance-no-int-to-ptr)
  if (info->si_code == BUS_ADRERR &&
      mmap(at, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
    return;
  signal(sig, SIG_DFL);
}

void mapped_survive(void) {
  struct sigaction action = {.sa_sigaction = on_missing, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, NULL);
}

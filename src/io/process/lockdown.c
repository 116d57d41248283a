// SPDX-License-Identifier: Apache-2.0
#include "io/process/lockdown.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crypto/locked.h"

void lockdown_process(void) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// ---- the environment

void lockdown_environment(void) {
  if (!environ) return;
  size_t bytes = sizeof(char *), count = 0;
  for (; environ[count]; count++) bytes += sizeof(char *) + strlen(environ[count]) + 1;
  char **list = locked_alloc(bytes);
  char *at = (char *)(list + count + 1);
  for (size_t i = 0; i < count; i++) {
    size_t n = strlen(environ[i]);
    list[i] = memcpy(at, environ[i], n + 1);
    at += n + 1;
    explicit_bzero(environ[i], n);
  }
  ASSERT(at == (char *)list + bytes);
  environ = list;
}

// ---- capabilities of a server

// The capabilities of root in a usual container, without raw sockets and device nodes. SYS_PTRACE, SYS_ADMIN,
// SYS_MODULE, SYS_RAWIO, SYS_BOOT, BPF, PERFMON, CHECKPOINT_RESTORE and SYSLOG are left out because they give access to
// other processes or to the kernel; NET_RAW and NET_ADMIN are left out because they let a server read requests on
// loopback.
static const unsigned kept_capabilities[] = {
    CAP_CHOWN,    CAP_DAC_OVERRIDE,     CAP_DAC_READ_SEARCH, CAP_FOWNER,      CAP_FSETID,   CAP_KILL,
    CAP_SETGID,   CAP_SETUID,           CAP_SETPCAP,         CAP_SETFCAP,     CAP_IPC_LOCK, CAP_IPC_OWNER,
    CAP_SYS_NICE, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,      CAP_AUDIT_WRITE, CAP_LEASE,    CAP_SYS_RESOURCE,
};

// Drops all capabilities except kept_capabilities, also from the bounding set: otherwise a program that runs as root
// would get them back at execve.
void lockdown_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  uint64_t kept = 0;
  for (size_t i = 0; i < sizeof kept_capabilities / sizeof *kept_capabilities; i++)
    kept |= (uint64_t)1 << kept_capabilities[i];
  for (unsigned c = 0; c < 64 && prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
    if (!(kept >> c & 1)) prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
  if (syscall(SYS_capget, &header, sets) != 0) return;
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
    uint32_t mask = (uint32_t)(kept >> 32 * i);
    sets[i].effective &= mask;
    sets[i].permitted &= mask;
    sets[i].inheritable &= mask;
  }
  syscall(SYS_capset, &header, sets);
}

static bool may_drop(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective >> CAP_SETPCAP & 1);
}

// ---- the domain of a server

// Versions of the Landlock ABI. Before ABI_WITH_REFER, every domain denies moving files between folders.
enum { ABI_WITH_REFER = 2, ABI_WITH_SCOPES = 6 };

static long domain_abi(void) {
  return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

// Copy of struct landlock_ruleset_attr from newer kernel headers.
struct ruleset {
  uint64_t files, net, scopes;
};

// Starts a Landlock domain that restricts no access to files. Its purpose is isolation: a process in a domain can trace
// and read only processes of the same domain and, since Linux 6.12, signal only these. A domain also denies mount and
// umount.
static bool enter_domain(void) {
  struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_REFER};
  enum { SCOPE_SIGNAL = 1 << 1 };
  struct ruleset all = {.files = LANDLOCK_ACCESS_FS_REFER, .scopes = SCOPE_SIGNAL};
  size_t size = domain_abi() >= ABI_WITH_SCOPES ? sizeof all : sizeof all.files;
  int rules = (int)syscall(SYS_landlock_create_ruleset, &all, size, 0);
  if (rules < 0) return false;
  rule.parent_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  bool ok = rule.parent_fd >= 0 && syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 &&
            syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  int error = errno;
  if (rule.parent_fd >= 0) close(rule.parent_fd);
  close(rules);
  errno = error;
  return ok;
}

bool lockdown_domain(void) {
  if (domain_abi() < ABI_WITH_REFER) return true;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && (enter_domain() || errno == E2BIG);
}

static void *try_domain(void *out) {
  *(bool *)out = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && !enter_domain() && errno == E2BIG;
  return NULL;
}

// Returns whether the kernel refuses one more nested domain. Tries this in a temporary thread, because a domain belongs
// to the thread that enters it.
static bool is_deepest_domain(void) {
  pthread_t thread;
  bool deepest = false;
  if (domain_abi() < ABI_WITH_REFER || pthread_create(&thread, NULL, try_domain, &deepest) != 0) return false;
  pthread_join(thread, NULL);
  return deepest;
}

static bool may_lock(void) {
  enum { PAGE = 4096 };
  void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  bool ok = mlock(p, PAGE) == 0;
  munmap(p, PAGE);
  return ok;
}

struct lockdown_gaps lockdown_gaps(void) {
  return (struct lockdown_gaps){
      .swappable = !may_lock(),
      .no_domains = domain_abi() < ABI_WITH_REFER,
      .deepest_domain = is_deepest_domain(),
      .keeps_capabilities = geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_SYS_PTRACE, 0, 0, 0) == 1 && !may_drop(),
  };
}

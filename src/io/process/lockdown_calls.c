// SPDX-License-Identifier: Apache-2.0
// The gateway's system call filter.
//
// The filter lists the denied calls, not the allowed ones, because these depend on the versions of the C library,
// OpenSSL, SQLite and name resolution. Some denied calls would come only from injected code: such a call ends the
// process, and the guard then ends the servers. A denied call that a library may try but does not need fails with
// EPERM.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/process/lockdown.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE_ARCH AUDIT_ARCH_RISCV64
#endif

#ifdef NATIVE_ARCH

enum { X32_BIT = 0x40000000 };  // set in the numbers of the x32 system calls, the second set of system calls on x86-64

static const int fatal[] = {
    SYS_execve,
    SYS_execveat,
#ifndef __SANITIZE_ADDRESS__  // the leak check at exit traces its own threads
    SYS_ptrace,
#endif
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kexec_load,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_setns,
    SYS_unshare,
};

static const int refused[] = {
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_io_uring_setup,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fsconfig,
    SYS_kcmp,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_personality,
#ifdef SYS_ioperm
    SYS_ioperm,
    SYS_iopl,
#endif
};

enum {
  FATAL = sizeof fatal / sizeof *fatal,
  REFUSED = sizeof refused / sizeof *refused,
  INSTRUCTIONS = 7 + 2 * (FATAL + REFUSED),
};

struct filter_program {
  struct sock_filter code[INSTRUCTIONS];
  unsigned short n;
};

static void put(struct filter_program *p, struct sock_filter instruction) {
  p->code[p->n++] = instruction;
}

static void put_result(struct filter_program *p, uint32_t result) {
  put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, result));
}

static void put_calls(struct filter_program *p, const int *calls, size_t count, uint32_t result) {
  for (size_t i = 0; i < count; i++) {
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1));
    put_result(p, result);
  }
}

// Writes the filter program. It checks the architecture first, because the numbers of system calls depend on it.
static void write_filter(struct filter_program *p) {
  put(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
  put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
  put_result(p, SECCOMP_RET_KILL_PROCESS);
  put(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
#ifdef __x86_64__
  put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
  put_result(p, SECCOMP_RET_KILL_PROCESS);
#endif
  put_calls(p, fatal, FATAL, SECCOMP_RET_KILL_PROCESS);
  put_calls(p, refused, REFUSED, SECCOMP_RET_ERRNO | EPERM);
  put_result(p, SECCOMP_RET_ALLOW);
}

bool lockdown_calls(void) {
  struct filter_program p = {.n = 0};
  write_filter(&p);
  struct sock_fprog filter = {p.n, p.code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

#else

bool lockdown_calls(void) {
  errno = ENOSYS;
  return false;
}

#endif

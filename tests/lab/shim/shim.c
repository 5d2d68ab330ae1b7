/* Faults for the laboratory: a library to preload that meets every system call which changes a file
 * below one folder, counts it, and at a chosen call kills the process, cuts the power, or fails.
 *
 *   cc -O2 -shared -fPIC -o shim.so shim.c
 *   LD_PRELOAD=shim.so LAB_ROOT=FOLDER LAB_CONTROL=FILE LAB_SIDE=FOLDER [LAB_POWER=1] PROGRAM
 *   LD_PRELOAD=shim.so LAB_CONTROL=FILE LAB_BOOT=FILE PROGRAM   without faults
 *
 * With LAB_LIES=1 the disk says that it synced, and does not. LAB_BOOT is read where a program asks for the id of the boot, which a power cut changes. The clock
 * is that of the control page.
 *
 * Calls are met with a seccomp filter that raises SIGSYS (x86-64 Linux only), so calls that bypass
 * libc are met too. Only the shim's own `syscall` instruction passes the filter. LAB_CONTROL is a
 * page of 64-bit words shared with the driver (`enum word`). LAB_SIDE is on the same file system as
 * LAB_ROOT and holds hard links to what may have to come back.
 *
 * With LAB_POWER=1 the shim remembers what is not durable yet: the content of every sector of 512
 * bytes as of the last fsync of its file, and the names as of the last fsync of their folder. A power
 * cut takes back a random part of it. A failed fsync leaves its sectors to be lost, whatever a later
 * fsync says, unless they are written again; this is what Linux does. Names come back in order: a
 * later change of a name is never kept without the earlier ones. What is written through a shared
 * mapping is not seen.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the shim knows the system calls of x86-64 only"
#endif

/* ---- the page shared with the driver ---- */

enum word {
    ARMED,       /* calls are counted and faults happen while this is not 0 */
    COUNT,       /* calls so far */
    KIND_1, AT_1, SPAN_1,
    KIND_2, AT_2, SPAN_2,
    SEED,
    HITS,        /* faults so far */
    HIT_CALL,    /* the system call of the first */
    CLOCK,       /* seconds added to the clock now */
    JUMP,        /* what CLOCK becomes when a fault says so */
    LOST_SECTORS,
    LOST_NAMES,
    WORDS = 16,  /* the path of the first hit follows */
};

enum kind {
    NONE,
    KILL_BEFORE, /* dies instead of the call */
    KILL_AFTER,  /* dies when the call is done */
    KILL_SHORT,  /* dies when half of a write is done */
    SHORT_WRITE, /* half of a write is done, and the call says so */
    NO_SPACE,
    IO_ERROR,
    SYNC_ERROR,  /* fsync and fdatasync fail */
    POWER_BEFORE,
    POWER_AFTER,
    CLOCK_JUMP,
};

static volatile uint64_t *page;
static char root[PATH_MAX], side[PATH_MAX];
static size_t root_length;
static int power, lies;
static uint64_t random_state;

/* ---- system calls of the shim's own ---- */

extern char lab_gate_end[];
long lab_gate(long, long, long, long, long, long, long);
__asm__(".text\n.globl lab_gate\n.hidden lab_gate\n.hidden lab_gate_end\n"
        ".globl lab_gate_end\n.type lab_gate,@function\n"
        "lab_gate:\n"
        "mov %rdi,%rax\nmov %rsi,%rdi\nmov %rdx,%rsi\nmov %rcx,%rdx\nmov %r8,%r10\nmov %r9,%r8\n"
        "mov 8(%rsp),%r9\nsyscall\nlab_gate_end:\nret\n.size lab_gate,.-lab_gate\n");

#define CALL(n, a, b, c, d, e, f) \
    lab_gate(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define CALL4(n, a, b, c, d) CALL(n, a, b, c, d, 0, 0)

static void die(void) {
    CALL4(SYS_kill, CALL4(SYS_getpid, 0, 0, 0, 0), SIGKILL, 0, 0);
    for (;;) {
    }
}

static uint64_t roll(uint64_t sides) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % sides;
}

static volatile int taken;
static void lock(void) {
    while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
        CALL4(SYS_sched_yield, 0, 0, 0, 0);
}
static void unlock(void) { __atomic_store_n(&taken, 0, __ATOMIC_RELEASE); }

/* Memory that malloc does not know of: a call may come from within malloc. */
static void *memory(size_t size) {
    static char *at, *end;
    size = (size + 15) & ~(size_t)15;
    if (!at || at + size > end) {
        size_t chunk = size > (1 << 20) ? size : (1 << 20);
        long got = CALL(SYS_mmap, 0, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (got < 0 && got > -4096)
            die();
        at = (char *)got;
        end = at + chunk;
    }
    void *given = at;
    at += size;
    return given;
}

#include "paths.h"

#include "durable.h"

#include "calls.h"

/* ---- the clock ---- */

int clock_gettime(clockid_t clock, struct timespec *to) {
    long got = CALL4(SYS_clock_gettime, clock, to, 0, 0);
    if (got < 0) {
        errno = (int)-got;
        return -1;
    }
    if (page && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        to->tv_sec += (time_t)page[CLOCK];
    return 0;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    to->tv_sec = now.tv_sec;
    to->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}

/* ---- the id of the boot, which a power cut changes ---- */

static const char *boot;

static const char *instead(const char *path) {
    return boot && !strcmp(path, "/proc/sys/kernel/random/boot_id") ? boot : path;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return (int)syscall(SYS_openat, AT_FDCWD, instead(path), flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return (int)syscall(SYS_openat, AT_FDCWD, instead(path), flags | O_LARGEFILE, mode);
}

/* ---- the start ---- */

static struct sock_filter program[128];
static int program_length;

static void add(uint16_t code, uint8_t yes, uint8_t no, uint32_t k) {
    program[program_length++] = (struct sock_filter){code, yes, no, k};
}

static void load(uint32_t at) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, at); }

/* Traps a call, an open only if it may change something. */
static void trap(long nr, int flags) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, flags < 0 ? 1 : 4, (uint32_t)nr);
    if (flags >= 0) {
        load((uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)flags));
        add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
        add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP);
        add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    } else {
        add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP);
    }
}

static void fail(const char *why) {
    CALL4(SYS_write, 2, "lab shim: ", 10, 0);
    CALL4(SYS_write, 2, why, strlen(why), 0);
    CALL4(SYS_write, 2, "\n", 1, 0);
    CALL4(SYS_exit_group, 97, 0, 0, 0);
}

__attribute__((constructor)) static void begin(void) {
    boot = getenv("LAB_BOOT");
    const char *given = getenv("LAB_ROOT"), *control = getenv("LAB_CONTROL"), *beside = getenv("LAB_SIDE");
    if (!control)
        return;
    int fd = open(control, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        fail("the control file cannot be opened");
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        fail("the control file cannot be mapped");
    if (!given || !beside)
        return;
    strncpy(root, given, sizeof root - 1);
    strncpy(side, beside, sizeof side - 1);
    root_length = strlen(root);
    power = getenv("LAB_POWER") != NULL;
    lies = getenv("LAB_LIES") != NULL;
    random_state = page[SEED] | 1;

    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    if (sigaction(SIGSYS, &action, NULL))
        fail("no handler of SIGSYS");
    uint64_t to = (uint64_t)lab_gate_end;
    load(offsetof(struct seccomp_data, instruction_pointer) + 4);
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, (uint32_t)(to >> 32));
    load(offsetof(struct seccomp_data, instruction_pointer));
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)to);
    add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    load(offsetof(struct seccomp_data, nr));
    static const long calls[] = {
        SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_pwritev2, SYS_sendfile,
        SYS_copy_file_range, SYS_fsync, SYS_fdatasync, SYS_ftruncate, SYS_fallocate, SYS_creat,
        SYS_rename, SYS_renameat, SYS_renameat2, SYS_link, SYS_linkat, SYS_unlink, SYS_unlinkat,
        SYS_rmdir, SYS_mkdir, SYS_mkdirat,
    };
    for (size_t n = 0; n < sizeof calls / sizeof *calls; n++)
        trap(calls[n], -1);
    trap(SYS_open, 1);
    trap(SYS_openat, 2);
    add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {(unsigned short)program_length, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        fail("no_new_privs is refused");
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter))
        fail("the filter of system calls is refused");
}

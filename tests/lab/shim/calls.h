/* Part of shim.c: one system call, what it touches, and the fault that befalls it. */

enum group { WRITE, SYNC, NAME, CUT, OPEN };

struct call {
    long nr;
    long a[6];
    enum group group;
    char path[PATH_MAX], from[PATH_MAX];
};

static uint64_t bytes(const struct call *call) {
    switch (call->nr) {
    case SYS_write: case SYS_pwrite64:
        return (uint64_t)call->a[2];
    case SYS_writev: case SYS_pwritev: case SYS_pwritev2: {
        const struct iovec *parts = (const struct iovec *)call->a[1];
        uint64_t sum = 0;
        for (long n = 0; n < call->a[2]; n++)
            sum += parts[n].iov_len;
        return sum;
    }
    case SYS_copy_file_range:
        return (uint64_t)call->a[4];
    case SYS_sendfile:
        return (uint64_t)call->a[3];
    default:
        return 0;
    }
}

static int target(const struct call *call) {
    return (int)(call->nr == SYS_copy_file_range ? call->a[2] : call->a[0]);
}

static uint64_t offset(const struct call *call) {
    int fd = target(call);
    if (call->nr == SYS_pwrite64 || call->nr == SYS_pwritev || call->nr == SYS_pwritev2)
        return (uint64_t)call->a[3];
    if (call->nr == SYS_copy_file_range && call->a[3])
        return *(uint64_t *)call->a[3];
    if (CALL4(SYS_fcntl, fd, F_GETFL, 0, 0) & O_APPEND)
        return size_of(fd);
    return (uint64_t)CALL4(SYS_lseek, fd, 0, SEEK_CUR, 0);
}

static long raw(const struct call *call) {
    const long *a = call->a;
    return CALL(call->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Half of a write. */
static long half(const struct call *call) {
    struct call less = *call;
    uint64_t length = bytes(call) / 2;
    if (call->nr == SYS_writev || call->nr == SYS_pwritev || call->nr == SYS_pwritev2) {
        const struct iovec *parts = (const struct iovec *)call->a[1];
        struct iovec first = {parts[0].iov_base, parts[0].iov_len / 2};
        if (!first.iov_len)
            return raw(call);
        less.a[1] = (long)&first;
        less.a[2] = 1;
        return raw(&less);
    }
    int at = call->nr == SYS_copy_file_range ? 4 : call->nr == SYS_sendfile ? 3 : 2;
    less.a[at] = (long)length;
    return raw(&less);
}

static long open_flags(const struct call *call) {
    return call->nr == SYS_openat ? call->a[2] : call->nr == SYS_open ? call->a[1] : O_CREAT | O_TRUNC;
}

static long perform(const struct call *call) {
    if (call->group == SYNC) {
        /* Nothing but the power takes anything back, so there is nothing to wait for. */
        struct stat s;
        if (CALL4(SYS_fstat, call->a[0], &s, 0, 0))
            return -EBADF;
        if (lies)
            return 0;
        if (power && S_ISDIR(s.st_mode))
            folder_synced(call->path);
        else if (power)
            synced((int)call->a[0], 0);
        return 0;
    }
    if (!power)
        return raw(call);
    char *kept = NULL;
    int was_there = 0;
    switch (call->group) {
    case WRITE:
        remember(track(target(call)), offset(call), bytes(call));
        return raw(call);
    case CUT: {
        struct file *file = track((int)call->a[0]);
        uint64_t size = size_of((int)call->a[0]);
        uint64_t to = call->nr == SYS_ftruncate ? (uint64_t)call->a[1] : size;
        if (file && to < size)
            remember(file, to, size - to);
        return raw(call);
    }
    case OPEN: {
        struct stat s;
        was_there = CALL4(SYS_stat, call->path, &s, 0, 0) == 0;
        if (was_there && open_flags(call) & O_TRUNC && S_ISREG(s.st_mode) && s.st_size) {
            long fd = CALL4(SYS_openat, AT_FDCWD, call->path, O_RDWR | O_CLOEXEC, 0);
            if (fd >= 0)
                remember(track((int)fd), 0, (uint64_t)s.st_size);
        }
        long got = raw(call);
        if (got >= 0 && !was_there && (open_flags(call) & O_TMPFILE) != O_TMPFILE)
            note(MADE, call->path, NULL, NULL);
        if (got >= 0 && open_flags(call) & O_ACCMODE)
            track((int)got);
        return got;
    }
    default:
        break;
    }
    int exchanging = call->nr == SYS_renameat2 && call->a[4] & 2;
    int renaming = call->nr == SYS_rename || call->nr == SYS_renameat || call->nr == SYS_renameat2;
    int making = call->nr == SYS_mkdir || call->nr == SYS_mkdirat;
    int linking = call->nr == SYS_link || call->nr == SYS_linkat;
    int folder = call->nr == SYS_rmdir || (call->nr == SYS_unlinkat && call->a[2] & AT_REMOVEDIR);
    if (!exchanging && !making && !linking && !folder)
        kept = keep(call->path);
    long got = raw(call);
    if (got < 0) {
        if (kept)
            CALL4(SYS_unlink, kept, 0, 0, 0);
    } else if (exchanging) {
        note(EXCHANGED, call->path, call->from, NULL);
    } else if (renaming) {
        note(RENAMED, call->path, call->from, kept);
    } else if (making) {
        note(FOLDER_MADE, call->path, NULL, NULL);
    } else if (linking) {
        note(MADE, call->path, NULL, NULL);
    } else {
        note(folder ? FOLDER_REMOVED : UNLINKED, call->path, NULL, kept);
    }
    return got;
}

static void hit(const struct call *call) {
    if (page[HITS]++ == 0) {
        page[HIT_CALL] = (uint64_t)call->nr;
        size_t length = strlen(call->path);
        memcpy((char *)(page + WORDS), call->path, length < 399 ? length + 1 : 399);
    }
}

/* Whether a fault befalls this call; `*result` is what it then returns. */
static int fault(const struct call *call, int slot, uint64_t count, long *result) {
    uint64_t at = page[slot + 1], span = page[slot + 2];
    if (!page[slot] || count < at || !span)
        return 0;
    int due = 0;
    switch (page[slot]) {
    case KILL_BEFORE:
        hit(call);
        die();
        break;
    case KILL_AFTER:
        hit(call);
        perform(call);
        die();
        break;
    case KILL_SHORT:
        hit(call);
        if (call->group == WRITE && bytes(call) > 1)
            half(call);
        die();
        break;
    case POWER_BEFORE:
        hit(call);
        cut();
        break;
    case POWER_AFTER:
        hit(call);
        perform(call);
        cut();
        break;
    case CLOCK_JUMP:
        hit(call);
        page[CLOCK] = page[JUMP];
        page[slot + 2] = 0;
        return 0;
    case SHORT_WRITE:
        if (call->group != WRITE || bytes(call) < 2)
            return 0;
        if (power)
            remember(track(target(call)), offset(call), bytes(call));
        *result = half(call);
        due = 1;
        break;
    case NO_SPACE:
        if (call->group == SYNC || call->nr == SYS_unlink || call->nr == SYS_unlinkat || call->nr == SYS_rmdir)
            return 0;
        if (call->group == OPEN && exists(call->path))
            return 0;
        if (call->group == CUT && call->nr == SYS_ftruncate
            && (uint64_t)call->a[1] <= size_of((int)call->a[0]))
            return 0;
        *result = -ENOSPC;
        due = 1;
        break;
    case IO_ERROR:
        if (power && call->group == SYNC)
            synced((int)call->a[0], 1);
        *result = -EIO;
        due = 1;
        break;
    case SYNC_ERROR:
        if (call->group != SYNC)
            return 0;
        if (power)
            synced((int)call->a[0], 1);
        *result = -EIO;
        due = 1;
        break;
    }
    if (due) {
        hit(call);
        page[slot + 2] = span - 1;
    }
    return due;
}

/* Finds out what a call touches; false when it is none of ours. */
static int understand(struct call *call) {
    long *a = call->a;
    call->from[0] = 0;
    switch (call->nr) {
    case SYS_write: case SYS_pwrite64: case SYS_writev: case SYS_pwritev: case SYS_pwritev2:
    case SYS_sendfile: case SYS_copy_file_range:
        call->group = WRITE;
        return path_of_fd(target(call), call->path) && below_root(call->path);
    case SYS_fsync: case SYS_fdatasync:
        call->group = SYNC;
        return path_of_fd((int)a[0], call->path) && below_root(call->path);
    case SYS_ftruncate: case SYS_fallocate:
        call->group = CUT;
        return path_of_fd((int)a[0], call->path) && below_root(call->path);
    case SYS_open: case SYS_creat:
        call->group = OPEN;
        return path_at(AT_FDCWD, (char *)a[0], call->path) && below_root(call->path);
    case SYS_openat:
        call->group = OPEN;
        return path_at((int)a[0], (char *)a[1], call->path) && below_root(call->path);
    }
    call->group = NAME;
    switch (call->nr) {
    case SYS_rename: case SYS_link:
        return path_at(AT_FDCWD, (char *)a[0], call->from)
            && path_at(AT_FDCWD, (char *)a[1], call->path) && below_root(call->path);
    case SYS_renameat: case SYS_renameat2: case SYS_linkat:
        return path_at((int)a[0], (char *)a[1], call->from)
            && path_at((int)a[2], (char *)a[3], call->path) && below_root(call->path);
    case SYS_unlink: case SYS_rmdir: case SYS_mkdir:
        return path_at(AT_FDCWD, (char *)a[0], call->path) && below_root(call->path);
    case SYS_unlinkat: case SYS_mkdirat:
        return path_at((int)a[0], (char *)a[1], call->path) && below_root(call->path);
    }
    return 0;
}

static long meet(struct call *call) {
    if (!understand(call))
        return raw(call);
    lock();
    long result = 0;
    int failed = 0;
    if (page[ARMED]) {
        uint64_t count = ++page[COUNT];
        failed = fault(call, KIND_1, count, &result) || fault(call, KIND_2, count, &result);
    }
    if (!failed)
        result = perform(call);
    unlock();
    return result;
}

static void on_call(int signal, siginfo_t *info, void *context) {
    (void)signal;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    struct call call;
    call.nr = info->si_syscall;
    call.a[0] = registers[REG_RDI];
    call.a[1] = registers[REG_RSI];
    call.a[2] = registers[REG_RDX];
    call.a[3] = registers[REG_R10];
    call.a[4] = registers[REG_R8];
    call.a[5] = registers[REG_R9];
    registers[REG_RAX] = meet(&call);
}

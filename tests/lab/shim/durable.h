/* Part of shim.c: what is not durable yet, and the power cut that takes a part of it back. */

/* ---- what is not durable yet: sectors ---- */

#define SECTOR 512

struct sector {
    uint64_t at;
    struct sector *next;
    int doomed; /* a failed fsync gave it up */
    char old[SECTOR];
};

#define BUCKETS 256
struct file {
    struct file *next;
    dev_t device;
    ino_t inode;
    int fd; /* never closed: that would let go of the locks of SQLite */
    uint64_t durable_size;
    struct sector *dirty[BUCKETS];
};
static struct file *files;
static struct sector *spare;

static struct file *track(int fd) {
    struct stat s;
    if (CALL4(SYS_fstat, fd, &s, 0, 0) || !S_ISREG(s.st_mode))
        return NULL;
    for (struct file *one = files; one; one = one->next)
        if (one->device == s.st_dev && one->inode == s.st_ino)
            return one;
    char link[64];
    memcpy(link, "/proc/self/fd/", 15);
    number(link + 14, (unsigned)fd);
    long own = CALL4(SYS_openat, AT_FDCWD, link, O_RDWR | O_CLOEXEC, 0);
    if (own < 0)
        return NULL;
    struct file *one = memory(sizeof *one);
    memset(one, 0, sizeof *one);
    one->device = s.st_dev;
    one->inode = s.st_ino;
    one->fd = (int)own;
    one->durable_size = (uint64_t)s.st_size;
    one->next = files;
    files = one;
    return one;
}

/* Remembers what a range holds before it changes. */
static void remember(struct file *file, uint64_t from, uint64_t length) {
    if (!file || !length)
        return;
    for (uint64_t at = from / SECTOR; at <= (from + length - 1) / SECTOR; at++) {
        struct sector **bucket = &file->dirty[at % BUCKETS], *one = *bucket;
        while (one && one->at != at)
            one = one->next;
        if (one) {
            one->doomed = 0;
            continue;
        }
        if (spare) {
            one = spare;
            spare = spare->next;
        } else {
            one = memory(sizeof *one);
        }
        memset(one, 0, sizeof *one);
        one->at = at;
        CALL4(SYS_pread64, file->fd, one->old, SECTOR, at * SECTOR);
        one->next = *bucket;
        *bucket = one;
    }
}

static uint64_t size_of(int fd) {
    struct stat s;
    return CALL4(SYS_fstat, fd, &s, 0, 0) ? 0 : (uint64_t)s.st_size;
}

static void synced(int fd, int failed) {
    struct file *file = track(fd);
    if (!file)
        return;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        struct sector **link = &file->dirty[bucket];
        while (*link) {
            struct sector *one = *link;
            if (failed || one->doomed) {
                one->doomed = 1;
                link = &one->next;
            } else {
                *link = one->next;
                one->next = spare;
                spare = one;
            }
        }
    }
    if (!failed)
        file->durable_size = size_of(file->fd);
}

/* ---- what is not durable yet: names ---- */

enum change { MADE, RENAMED, EXCHANGED, UNLINKED, FOLDER_MADE, FOLDER_REMOVED };

struct name {
    enum change change;
    char *path, *from, *kept; /* the new name, the old name, a link to the file that was there */
    int durable;
    struct name *before;
};
static struct name *last_name;

static char *keep(const char *path) {
    static uint64_t next;
    char to[PATH_MAX];
    struct stat s;
    if (CALL4(SYS_lstat, path, &s, 0, 0) || S_ISDIR(s.st_mode))
        return NULL;
    size_t length = strlen(side);
    memcpy(to, side, length);
    to[length] = '/';
    char *end = number(to + length + 1, (uint64_t)CALL4(SYS_getpid, 0, 0, 0, 0));
    *end = '-';
    number(end + 1, next++);
    if (CALL(SYS_linkat, AT_FDCWD, path, AT_FDCWD, to, 0, 0))
        return NULL;
    return copy(to);
}

static void note(enum change change, const char *path, const char *from, char *kept) {
    struct name *one = memory(sizeof *one);
    one->change = change;
    one->path = copy(path);
    one->from = from ? copy(from) : NULL;
    one->kept = kept;
    one->durable = 0;
    one->before = last_name;
    last_name = one;
}

static int in_folder(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return path && !strncmp(path, folder, n) && path[n] == '/' && !strchr(path + n + 1, '/');
}

static void folder_synced(const char *folder) {
    struct name **link = &last_name;
    while (*link) {
        struct name *one = *link;
        if (in_folder(one->path, folder) || in_folder(one->from, folder)) {
            if (one->kept)
                CALL4(SYS_unlink, one->kept, 0, 0, 0);
            *link = one->before;
        } else {
            link = &one->before;
        }
    }
}

static void take_back(struct name *one) {
    switch (one->change) {
    case MADE:
        CALL4(SYS_unlink, one->path, 0, 0, 0);
        break;
    case RENAMED:
        CALL4(SYS_rename, one->path, one->from, 0, 0);
        if (one->kept)
            CALL4(SYS_rename, one->kept, one->path, 0, 0);
        break;
    case EXCHANGED:
        CALL(SYS_renameat2, AT_FDCWD, one->path, AT_FDCWD, one->from, 2, 0);
        break;
    case UNLINKED:
        if (one->kept)
            CALL4(SYS_rename, one->kept, one->path, 0, 0);
        break;
    case FOLDER_MADE:
        CALL4(SYS_rmdir, one->path, 0, 0, 0);
        break;
    case FOLDER_REMOVED:
        CALL4(SYS_mkdir, one->path, 0777, 0, 0);
        break;
    }
    page[LOST_NAMES]++;
}

/* The power goes: a random part of what is not durable is lost. */
static void cut(void) {
    /* 0: everything is lost, 1: half of it, 2: an eighth, 3: nothing but what was given up. */
    uint64_t how = roll(4);
    for (struct file *file = files; file; file = file->next) {
        uint64_t size = size_of(file->fd), kept_size = size;
        for (int bucket = 0; bucket < BUCKETS; bucket++)
            for (struct sector *one = file->dirty[bucket]; one; one = one->next) {
                int lose = one->doomed || how == 0 || (how == 1 && roll(2)) || (how == 2 && !roll(8));
                uint64_t begin = one->at * SECTOR;
                if (!lose || begin >= size)
                    continue;
                uint64_t length = size - begin < SECTOR ? size - begin : SECTOR;
                CALL4(SYS_pwrite64, file->fd, one->old, length, begin);
                page[LOST_SECTORS]++;
            }
        if (size > file->durable_size) {
            if (how == 0)
                kept_size = file->durable_size;
            else if (how < 3)
                kept_size = file->durable_size + roll(size - file->durable_size + 1);
        } else if (size < file->durable_size && how < 3 && (how == 0 || roll(2))) {
            /* It was cut shorter, and is not. */
            kept_size = file->durable_size;
            for (int bucket = 0; bucket < BUCKETS; bucket++)
                for (struct sector *one = file->dirty[bucket]; one; one = one->next)
                    if ((one->at + 1) * SECTOR > size)
                        CALL4(SYS_pwrite64, file->fd, one->old, SECTOR, one->at * SECTOR);
        }
        if (kept_size != size_of(file->fd))
            CALL4(SYS_ftruncate, file->fd, kept_size, 0, 0);
    }
    uint64_t names = 0, lost = 0;
    for (struct name *one = last_name; one; one = one->before)
        names++;
    if (how == 0)
        lost = names;
    else if (how < 3)
        lost = roll(names + 1);
    for (struct name *one = last_name; one && lost; one = one->before, lost--)
        take_back(one);
    die();
}

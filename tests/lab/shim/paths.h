/* Part of shim.c: the paths that system calls name. */

static char *number(char *to, uint64_t value) {
    char digits[24];
    int n = 0;
    do
        digits[n++] = '0' + value % 10;
    while (value /= 10);
    while (n)
        *to++ = digits[--n];
    *to = 0;
    return to;
}

static int below_root(const char *path) {
    return !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static int path_of_fd(int fd, char *to) {
    char link[64];
    memcpy(link, "/proc/self/fd/", 15);
    number(link + 14, (unsigned)fd);
    long n = CALL4(SYS_readlink, link, to, PATH_MAX - 1, 0);
    if (n <= 0)
        return 0;
    to[n] = 0;
    return 1;
}

static int path_at(int folder, const char *path, char *to) {
    if (!path)
        return 0;
    if (path[0] == '/') {
        strncpy(to, path, PATH_MAX - 1);
        to[PATH_MAX - 1] = 0;
        return 1;
    }
    if (folder == AT_FDCWD) {
        long n = CALL4(SYS_readlink, "/proc/self/cwd", to, PATH_MAX - 1, 0);
        if (n <= 0)
            return 0;
        to[n] = 0;
    } else if (!path_of_fd(folder, to)) {
        return 0;
    }
    size_t length = strlen(to);
    if (length + strlen(path) + 2 >= PATH_MAX)
        return 0;
    to[length] = '/';
    strcpy(to + length + 1, path);
    return 1;
}

static char *copy(const char *text) {
    size_t n = strlen(text) + 1;
    return memcpy(memory(n), text, n);
}

static int exists(const char *path) {
    struct stat s;
    return CALL4(SYS_lstat, path, &s, 0, 0) == 0;
}

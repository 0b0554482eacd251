/* A disk that can be watched and broken: preloaded into a server, it looks at the files in the directory DISK_WATCHED.

   - Every fsync and fdatasync of such a file appends a byte to DISK_SYNCS: the size of that file is their number.
   - After it, the file is copied to the directory DISK_SURVIVES. What is there is what a power cut leaves; files that
     are removed are removed there too.
   - While the file DISK_FAULT exists, writes to such a file fail with the errno that it holds.

   Each part works where its variable is set. A process that is killed cannot show what a power cut would lose, because
   the kernel still has it; this can, and without root or a file system of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*sync_function)(int);
typedef int (*unlink_function)(const char *);
typedef ssize_t (*write_function)(int, const void *, size_t, off_t);

/* The name of a file without the directory that is watched; NULL if it is elsewhere. */
static const char *name_in_watched(const char *path) {
    const char *directory = getenv("DISK_WATCHED");
    size_t prefix = directory ? strlen(directory) : 0;
    return prefix && !strncmp(path, directory, prefix) && path[prefix] == '/' ? path + prefix + 1 : NULL;
}

/* The same for a file that is open. */
static int watched(int file, char *name, size_t size) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    const char *found = name_in_watched(path);
    if (found) snprintf(name, size, "%s", found);
    return found != NULL;
}

static void count(void) {
    const char *path = getenv("DISK_SYNCS");
    if (!path) return;
    int counter = open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (counter < 0 || write(counter, "s", 1) != 1) abort();
    close(counter);
}

/* Read through the descriptor itself: to close a second one would give up the locks of the process on the file. */
static void keep(int file, const char *name) {
    static __thread char buffer[1 << 16];
    const char *directory = getenv("DISK_SURVIVES");
    char draft[4200], kept[4200];
    if (!directory) return;
    snprintf(draft, sizeof draft, "%s/%s.draft", directory, name);
    snprintf(kept, sizeof kept, "%s/%s", directory, name);
    int copy = open(draft, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (copy < 0) abort();
    off_t place = 0;
    for (ssize_t got; (got = pread(file, buffer, sizeof buffer, place)) > 0; place += got)
        if (write(copy, buffer, got) != got) abort();
    close(copy);
    if (rename(draft, kept)) abort();
}

static int synced(int file, const char *function) {
    char name[4096];
    int result = ((sync_function)dlsym(RTLD_NEXT, function))(file);
    if (result == 0 && watched(file, name, sizeof name)) {
        count();
        keep(file, name);
    }
    return result;
}

static ssize_t written(int file, const void *data, size_t size, off_t place, const char *function) {
    const char *fault = getenv("DISK_FAULT");
    char name[4096];
    FILE *reason = fault && watched(file, name, sizeof name) ? fopen(fault, "r") : NULL;
    if (reason) {
        int code = 0;
        int found = fscanf(reason, "%d", &code);
        fclose(reason);
        errno = found == 1 ? code : EIO;
        return -1;
    }
    return ((write_function)dlsym(RTLD_NEXT, function))(file, data, size, place);
}

int unlink(const char *path) {
    unlink_function real = (unlink_function)dlsym(RTLD_NEXT, "unlink");
    const char *name = name_in_watched(path), *directory = getenv("DISK_SURVIVES");
    int result = real(path);
    if (result == 0 && name && directory) {
        char kept[4200];
        snprintf(kept, sizeof kept, "%s/%s", directory, name);
        real(kept);
    }
    return result;
}

int fsync(int file) { return synced(file, "fsync"); }
int fdatasync(int file) { return synced(file, "fdatasync"); }
ssize_t pwrite(int file, const void *data, size_t size, off_t place) { return written(file, data, size, place, "pwrite"); }
ssize_t pwrite64(int file, const void *data, size_t size, off_t place) { return written(file, data, size, place, "pwrite64"); }

/* A disk that fails on demand: preloaded into a process, it stands between it and the files of one folder.
 *
 * Operations on these files are counted by class. At a chosen one it reports an error, writes half and then reports a
 * full disk, drops the operation and claims success, or ends the process before or in the middle of it. It can also
 * record every change in order, from which all states that a power cut may leave are made afterwards.
 *
 * Shared memory (-shm) is left alone: it never outlives a crash and nothing is recovered from it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#undef open
#undef open64
#undef openat
#undef openat64
#undef pread64
#undef pwrite64
#undef ftruncate64

enum { WRITES = 1, SYNCS = 2, READS = 4, NAMES = 8 };
enum { NOTHING, FAIL, SHORT, LOSE, KILL_BEFORE, KILL_AMID };
enum { DESCRIPTORS = 4096 };

static char folder[PATH_MAX];
static size_t folder_length;
static char watched[DESCRIPTORS];
static int action, classes, repeats, record_to = -1;
static long chosen, counted;

/* What the process that runs the experiment calls. */

void disk_watch(const char *path) {
    strncpy(folder, path, sizeof folder - 1);
    folder_length = strlen(folder);
}

/* From now on count operations of these classes; act at number `at`, and with `again` at all after it. */
void disk_fault(int what, int of_classes, long at, int again) {
    action = what, classes = of_classes, chosen = at, repeats = again, counted = 0;
}

long disk_counted(void) { return counted; }

void disk_record(int descriptor) { record_to = descriptor; }

static void append(const void *bytes, size_t length) {
    const char *place = bytes;
    while (length) {
        ssize_t written = syscall(SYS_write, record_to, place, length);
        if (written <= 0)
            _exit(99); /* a torn record would pass for a shorter history */
        place += written, length -= written;
    }
}

static void record(char kind, uint64_t file, uint64_t number, const void *bytes, uint64_t length) {
    uint64_t head[4] = {(unsigned char)kind, file, number, length};
    if (record_to < 0)
        return;
    append(head, sizeof head);
    append(bytes, length);
}

/* Something left the process: whatever it depends on must have been durable before. */
void disk_released(const void *bytes, uint64_t length) { record('!', 0, 0, bytes, length); }

/* What happens to the operation at hand. */

static int decide(int class) {
    if (!(class & classes))
        return NOTHING;
    counted++;
    if (counted != chosen && !(repeats && counted > chosen))
        return NOTHING;
    if (action == KILL_BEFORE || (action == KILL_AMID && class != WRITES))
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    return action;
}

static int is_shared_memory(const char *path) {
    size_t length = strlen(path);
    return length > 4 && !strcmp(path + length - 4, "-shm");
}

static int is_ours(const char *path) {
    return folder_length && !strncmp(path, folder, folder_length) && !is_shared_memory(path);
}

static int is_watched(int descriptor) { return descriptor >= 0 && descriptor < DESCRIPTORS && watched[descriptor]; }

static uint64_t number_of(int descriptor) {
    struct stat found;
    int kept = errno;
    uint64_t number = fstat(descriptor, &found) ? 0 : found.st_ino;
    errno = kept;
    return number;
}

static int failed(int code) {
    errno = code;
    return -1;
}

/* The calls. */

static int open_file(int at, const char *path, int flags, mode_t mode) {
    int ours = is_ours(path), made = 0;
    if (ours && flags & O_CREAT) {
        struct stat found;
        int kept = errno;
        made = stat(path, &found) != 0;
        errno = kept;
    }
    if (made && decide(NAMES) != NOTHING)
        return failed(EIO);
    int descriptor = syscall(SYS_openat, at, path, flags, mode);
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
        watched[descriptor] = ours;
    if (descriptor >= 0 && made)
        record('c', number_of(descriptor), 0, path, strlen(path));
    if (descriptor >= 0 && ours && flags & O_TRUNC && !made)
        record('t', number_of(descriptor), 0, "", 0);
    return descriptor;
}

static mode_t mode_of(int flags, va_list given) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(given, mode_t) : 0; }

#define OPEN(name, before, at)                                                                                         \
    int name(before const char *path, int flags, ...) {                                                                \
        va_list given;                                                                                                 \
        va_start(given, flags);                                                                                        \
        mode_t mode = mode_of(flags, given);                                                                           \
        va_end(given);                                                                                                 \
        return open_file(at, path, flags, mode);                                                                       \
    }
#define DIRECTORY int directory,
OPEN(open, , AT_FDCWD)
OPEN(open64, , AT_FDCWD)
OPEN(openat, DIRECTORY, directory)
OPEN(openat64, DIRECTORY, directory)

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
        watched[descriptor] = 0;
    return syscall(SYS_close, descriptor);
}

static ssize_t write_file(int descriptor, const void *bytes, size_t length, off_t place, int placed) {
    size_t wanted = length;
    int watching = is_watched(descriptor), what = watching ? decide(WRITES) : NOTHING;
    if (what == FAIL)
        return failed(EIO);
    if (what == LOSE)
        return placed ? (ssize_t)length : (ssize_t)(lseek(descriptor, length, SEEK_CUR), length);
    if (what == SHORT || what == KILL_AMID)
        length /= 2;
    if (watching && !placed)
        place = lseek(descriptor, 0, SEEK_CUR);
    ssize_t written = placed ? syscall(SYS_pwrite64, descriptor, bytes, length, place)
                             : syscall(SYS_write, descriptor, bytes, length);
    if (what == KILL_AMID)
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    if (watching && written > 0)
        record('w', number_of(descriptor), place, bytes, written);
    return what == SHORT && wanted < 2 ? failed(ENOSPC) : written;
}

ssize_t write(int descriptor, const void *bytes, size_t length) { return write_file(descriptor, bytes, length, 0, 0); }
ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t place) {
    return write_file(descriptor, bytes, length, place, 1);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off_t place) {
    return write_file(descriptor, bytes, length, place, 1);
}

static int read_fails(int descriptor) { return is_watched(descriptor) && decide(READS) == FAIL; }

ssize_t read(int descriptor, void *bytes, size_t length) {
    return read_fails(descriptor) ? failed(EIO) : syscall(SYS_read, descriptor, bytes, length);
}
ssize_t pread(int descriptor, void *bytes, size_t length, off_t place) {
    return read_fails(descriptor) ? failed(EIO) : syscall(SYS_pread64, descriptor, bytes, length, place);
}
ssize_t pread64(int descriptor, void *bytes, size_t length, off_t place) {
    return pread(descriptor, bytes, length, place);
}

int ftruncate(int descriptor, off_t length) {
    int watching = is_watched(descriptor), what = watching ? decide(WRITES) : NOTHING;
    if (what == FAIL || what == SHORT)
        return failed(EIO);
    if (what == LOSE)
        return 0;
    if (what == KILL_AMID)
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    int status = syscall(SYS_ftruncate, descriptor, length);
    if (watching && !status)
        record('t', number_of(descriptor), length, "", 0);
    return status;
}
int ftruncate64(int descriptor, off_t length) { return ftruncate(descriptor, length); }

static int sync_file(int descriptor, long call) {
    int watching = is_watched(descriptor), what = watching ? decide(SYNCS) : NOTHING;
    if (what == FAIL || what == SHORT)
        return failed(EIO);
    if (what == LOSE)
        return 0;
    int status = syscall(call, descriptor);
    if (watching && !status)
        record('s', number_of(descriptor), 0, "", 0);
    return status;
}
int fsync(int descriptor) { return sync_file(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_file(descriptor, SYS_fdatasync); }

/* Names: kind, then both paths with a zero byte between them. */

static int change_name(char kind, const char *from, const char *to, int status) {
    char both[2 * PATH_MAX];
    size_t first = strlen(from) + 1, second = strlen(to);
    if (status)
        return status;
    memcpy(both, from, first);
    memcpy(both + first, to, second);
    record(kind, 0, 0, both, first + second);
    return 0;
}

int rename(const char *from, const char *to) {
    if (is_ours(to) && decide(NAMES) != NOTHING)
        return failed(EIO);
    int status = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    return is_ours(to) ? change_name('r', from, to, status) : status;
}

int link(const char *from, const char *to) {
    if (is_ours(to) && decide(NAMES) != NOTHING)
        return failed(EIO);
    int status = syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    return is_ours(to) ? change_name('l', from, to, status) : status;
}

int unlink(const char *path) {
    if (is_ours(path) && decide(NAMES) != NOTHING)
        return failed(EIO);
    int status = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    return is_ours(path) ? change_name('u', path, "", status) : status;
}

/*
 * A library to preload into a process. It makes system calls fail as on a failing disk.
 *
 * The file named by SICK_DISK has lines of the form "CALL ERRNO PART". Such calls then fail with this errno (a number)
 * on paths that contain PART. CALL is `fsync` (also for fdatasync), `write` (also for pwrite) or `statx`. If the file
 * does not exist, all calls work.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static long (*next_syscall)(long, ...);

static long (*real(void))(long, ...) {
  if (next_syscall == NULL) next_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next_syscall;
}

static int sick(const char *call, const char *path) {
  const char *control = getenv("SICK_DISK");
  char text[4096], name[32], part[1024];
  int number, fd, failing = 0;
  ssize_t got;
  if (control == NULL || path == NULL) return 0;
  fd = (int)real()(SYS_openat, AT_FDCWD, control, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  got = real()(SYS_read, fd, text, sizeof text - 1);
  real()(SYS_close, fd);
  if (got <= 0) return 0;
  text[got] = 0;
  for (char *line = text; line != NULL && *line != 0 && !failing; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    if (sscanf(line, "%31s %d %1023s", name, &number, part) == 3 && strcmp(name, call) == 0 && strstr(path, part) != NULL)
      failing = number;
  return failing;
}

static int sick_fd(const char *call, int fd) {
  char link[64], path[PATH_MAX];
  ssize_t length;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = real()(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return sick(call, path);
}

#define OR_FAIL(number) do { int n = (number); if (n != 0) { errno = n; return -1; } } while (0)

int fsync(int fd) { OR_FAIL(sick_fd("fsync", fd)); return (int)real()(SYS_fsync, fd); }
int fdatasync(int fd) { OR_FAIL(sick_fd("fsync", fd)); return (int)real()(SYS_fdatasync, fd); }
ssize_t write(int fd, const void *bytes, size_t count) { OR_FAIL(sick_fd("write", fd)); return real()(SYS_write, fd, bytes, count); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { OR_FAIL(sick_fd("write", fd)); return real()(SYS_pwrite64, fd, bytes, count, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) { return pwrite(fd, bytes, count, at); }
int statx(int at, const char *path, int flags, unsigned mask, struct statx *into) { OR_FAIL(sick("statx", path)); return (int)real()(SYS_statx, at, path, flags, mask, into); }

/* libuv calls statx by its number. */
long syscall(long number, ...) {
  long a[6];
  va_list given;
  va_start(given, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(given, long);
  va_end(given);
  if (number == SYS_statx) OR_FAIL(sick("statx", (const char *)a[1]));
  return real()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

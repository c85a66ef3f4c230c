/*
 * A library to preload into a process. It kills the process (SIGKILL) right before the n-th call that changes or syncs
 * something beneath a folder.
 *
 *   STOP_BENEATH   the path of the folder, or several paths separated by ':'
 *   STOP_AT        n; 0 or missing: the process is never killed
 *   STOP_TORN      if set, and the n-th call is a write: its first half is written before
 *   STOP_COUNT     a file in which the number of calls is written when the process exits
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;
static long stop_at;
static int torn;
static const char *beneath;

__attribute__((constructor)) static void begin(void) {
  const char *n = getenv("STOP_AT");
  stop_at = n == NULL ? 0 : atol(n);
  torn = getenv("STOP_TORN") != NULL;
  beneath = getenv("STOP_BENEATH");
}

__attribute__((destructor)) static void end(void) {
  const char *file = getenv("STOP_COUNT");
  if (file == NULL) return;
  FILE *out = fopen(file, "w");
  if (out == NULL) return;
  fprintf(out, "%ld\n", atomic_load(&calls));
  fclose(out);
}

static int is_beneath(const char *path) {
  if (beneath == NULL) return 0;
  for (const char *one = beneath; *one != 0;) {
    const char *colon = strchrnul(one, ':');
    size_t length = (size_t)(colon - one);
    if (length > 0 && strncmp(path, one, length) == 0) return 1;
    one = *colon == 0 ? colon : colon + 1;
  }
  return 0;
}

static int fd_counts(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_beneath(path);
}

static int path_counts(const char *path) {
  static const char self[] = "/proc/self/fd/";
  if (strncmp(path, self, sizeof self - 1) == 0) return fd_counts(atoi(path + sizeof self - 1));
  return is_beneath(path);
}

/* Counts a call, if `counts` is not 0. Returns true if the process is to be killed before this call. */
static int is_last(int counts) { return counts && atomic_fetch_add(&calls, 1) + 1 == stop_at; }

static void stop(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define CALL(result, name, parameters, arguments, counts) \
  result name parameters { \
    REAL(name); \
    if (is_last(counts)) stop(); \
    return real arguments; \
  }

#define WRITE(name, parameters, whole, half) \
  ssize_t name parameters { \
    REAL(name); \
    if (is_last(fd_counts(fd))) { \
      if (torn && real half < 0) stop(); \
      stop(); \
    } \
    return real whole; \
  }

WRITE(write, (int fd, const void *bytes, size_t count), (fd, bytes, count), (fd, bytes, count / 2))
WRITE(pwrite, (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, count, at), (fd, bytes, count / 2, at))
WRITE(pwrite64, (int fd, const void *bytes, size_t count, off64_t at), (fd, bytes, count, at), (fd, bytes, count / 2, at))
CALL(int, fsync, (int fd), (fd), fd_counts(fd))
CALL(int, fdatasync, (int fd), (fd), fd_counts(fd))
CALL(int, ftruncate, (int fd, off_t length), (fd, length), fd_counts(fd))
CALL(int, ftruncate64, (int fd, off64_t length), (fd, length), fd_counts(fd))
CALL(int, fchmod, (int fd, mode_t mode), (fd, mode), fd_counts(fd))
CALL(int, rename, (const char *from, const char *to), (from, to), path_counts(from) || path_counts(to))
CALL(int, link, (const char *from, const char *to), (from, to), path_counts(from) || path_counts(to))
CALL(int, symlink, (const char *target, const char *path), (target, path), path_counts(path))
CALL(int, unlink, (const char *path), (path), path_counts(path))
CALL(int, rmdir, (const char *path), (path), path_counts(path))
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), path_counts(path))

/* Ends the process, as a power cut would, before the n-th of its calls that change what files there are below a folder
   (CUT_BELOW), or bring one to the disk: CUT_BEFORE=n. Each call is a line of CUT_LIST. Loaded with LD_PRELOAD. */
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
#include <unistd.h>

#define REAL(name, type) static __typeof__(type) *real; if (!real) real = (__typeof__(type) *)dlsym(RTLD_NEXT, name)

static atomic_int reached;

static void step(const char *what, int at, const char *path) {
  static const char *below, *list, *before;
  static int is_known;
  if (!is_known) {
    below = getenv("CUT_BELOW"), list = getenv("CUT_LIST"), before = getenv("CUT_BEFORE");
    is_known = 1;
  }
  char whole[2 * PATH_MAX], of[64];
  if (!below || !path) return;
  if (path[0] == '/') snprintf(whole, sizeof whole, "%s", path);
  else {
    char folder[PATH_MAX] = "";
    snprintf(of, sizeof of, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
    ssize_t size = readlink(of, folder, sizeof folder - 1);
    folder[size > 0 ? size : 0] = 0;
    snprintf(whole, sizeof whole, "%s%s%s", folder, path[0] ? "/" : "", path);
  }
  if (strncmp(whole, below, strlen(below))) return;
  int number = atomic_fetch_add(&reached, 1) + 1;
  if (list) {
    char line[3 * PATH_MAX];
    int size = snprintf(line, sizeof line, "%s %s\n", what, whole + strlen(below));
    int file = open(list, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (file >= 0 && write(file, line, size) >= 0) close(file);
  }
  if (before && number == atoi(before)) kill(getpid(), SIGKILL), pause();
}

static int opened(const char *name, int at, const char *path, int flags, mode_t mode) {
  REAL("openat", int(int, const char *, int, ...));
  if ((flags & O_CREAT) && faccessat(at, path, F_OK, 0)) step("create", at, path);
  else if (flags & O_TRUNC) step("truncate", at, path);
  (void)name;
  return real(at, path, flags, mode);
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list more; va_start(more, flags); mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0; va_end(more); \
    return opened(#name, AT_FDCWD, path, flags | (sizeof(long) == 8 ? O_LARGEFILE : 0), mode); }
#define OPENAT(name) \
  int name(int at, const char *path, int flags, ...) { \
    va_list more; va_start(more, flags); mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0; va_end(more); \
    return opened(#name, at, path, flags, mode); }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int rename(const char *from, const char *to) {
  REAL("rename", int(const char *, const char *));
  step("rename", AT_FDCWD, to);
  return real(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
  REAL("renameat", int(int, const char *, int, const char *));
  step("rename", b, to);
  return real(a, from, b, to);
}
int link(const char *from, const char *to) {
  REAL("link", int(const char *, const char *));
  step("link", AT_FDCWD, to);
  return real(from, to);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
  REAL("linkat", int(int, const char *, int, const char *, int));
  step("link", b, to);
  return real(a, from, b, to, flags);
}
int unlink(const char *path) {
  REAL("unlink", int(const char *));
  step("unlink", AT_FDCWD, path);
  return real(path);
}
int unlinkat(int at, const char *path, int flags) {
  REAL("unlinkat", int(int, const char *, int));
  step("unlink", at, path);
  return real(at, path, flags);
}
int rmdir(const char *path) {
  REAL("rmdir", int(const char *));
  step("rmdir", AT_FDCWD, path);
  return real(path);
}
int fsync(int file) { REAL("fsync", int(int)); step("fsync", file, ""); return real(file); }
int fdatasync(int file) { REAL("fdatasync", int(int)); step("fsync", file, ""); return real(file); }
int ftruncate(int file, off_t size) { REAL("ftruncate", int(int, off_t)); step("cut", file, ""); return real(file, size); }
int ftruncate64(int file, off_t size) { REAL("ftruncate64", int(int, off_t)); step("cut", file, ""); return real(file, size); }

/*
 * Records what a process does to one database file, in order: writes, truncations, syncs and removals, and the lines of its ledger.
 * Loaded with LD_PRELOAD. CAPTURE_DATABASE is the path of the database, CAPTURE_OUT the file for the records.
 * A record is: kind 1 byte | file 1 byte | offset 8 | length 4 | so many bytes; numbers are little-endian.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { WRITE = 1, SYNC = 2, TRUNCATE = 3, REMOVE = 4 };
enum file { OTHER = 0, DATABASE = 1, LOG = 2, JOURNAL = 3, LEDGER = 4 };

#define MAX_DESCRIPTORS 4096
#define HEADER 14

static unsigned char files[MAX_DESCRIPTORS];
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *database;
static int out = -1;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void start(void) {
  const char *path = getenv("CAPTURE_OUT");
  database = getenv("CAPTURE_DATABASE");
  if (database == NULL || path == NULL) return;
  out = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static enum file file_at(const char *path) {
  pthread_once(&once, start);
  if (out < 0 || path == NULL) return OTHER;
  size_t length = strlen(database);
  if (strncmp(path, database, length) != 0) return OTHER;
  const char *suffix = path + length;
  if (*suffix == '\0') return DATABASE;
  if (strcmp(suffix, "-wal") == 0) return LOG;
  if (strcmp(suffix, "-journal") == 0) return JOURNAL;
  if (strcmp(suffix, ".ledger") == 0) return LEDGER;
  return OTHER;
}

static enum file file_of(int descriptor) {
  return descriptor >= 0 && descriptor < MAX_DESCRIPTORS ? files[descriptor] : OTHER;
}

static void opened(int descriptor, const char *path) {
  if (descriptor >= 0 && descriptor < MAX_DESCRIPTORS) files[descriptor] = file_at(path);
}

static void record(enum kind kind, enum file file, uint64_t offset, const void *bytes, uint32_t length) {
  unsigned char *line = malloc(HEADER + (size_t)length);
  if (line == NULL) abort();
  line[0] = kind;
  line[1] = file;
  memcpy(line + 2, &offset, sizeof offset);
  memcpy(line + 10, &length, sizeof length);
  if (length > 0) memcpy(line + HEADER, bytes, length);
  if (REAL(write)(out, line, HEADER + (size_t)length) < 0) abort();
  free(line);
}

#define OPEN(name)                                         \
  int name(const char *path, int flags, ...) {             \
    mode_t mode = 0;                                       \
    if (flags & (O_CREAT | O_TMPFILE)) {                   \
      va_list rest;                                        \
      va_start(rest, flags);                               \
      mode = va_arg(rest, mode_t);                         \
      va_end(rest);                                        \
    }                                                      \
    int descriptor = REAL(name)(path, flags, mode);        \
    opened(descriptor, path);                              \
    return descriptor;                                     \
  }
OPEN(open)
OPEN(open64)

int close(int descriptor) {
  if (descriptor >= 0 && descriptor < MAX_DESCRIPTORS) files[descriptor] = OTHER;
  return REAL(close)(descriptor);
}

#define PWRITE(name, offset_type)                                                        \
  ssize_t name(int descriptor, const void *bytes, size_t length, offset_type offset) {   \
    enum file file = file_of(descriptor);                                                \
    if (file == OTHER) return REAL(name)(descriptor, bytes, length, offset);             \
    pthread_mutex_lock(&order);                                                          \
    ssize_t written = REAL(name)(descriptor, bytes, length, offset);                     \
    if (written > 0) record(WRITE, file, (uint64_t)offset, bytes, (uint32_t)written);    \
    pthread_mutex_unlock(&order);                                                        \
    return written;                                                                      \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int descriptor, const void *bytes, size_t length) {
  enum file file = file_of(descriptor);
  if (file == OTHER) return REAL(write)(descriptor, bytes, length);
  pthread_mutex_lock(&order);
  uint64_t offset = file == LEDGER ? 0 : (uint64_t)lseek(descriptor, 0, SEEK_CUR);
  ssize_t written = REAL(write)(descriptor, bytes, length);
  if (written > 0) record(WRITE, file, offset, bytes, (uint32_t)written);
  pthread_mutex_unlock(&order);
  return written;
}

#define SYNC_BY(name)                                      \
  int name(int descriptor) {                               \
    enum file file = file_of(descriptor);                  \
    if (file == OTHER) return REAL(name)(descriptor);      \
    pthread_mutex_lock(&order);                            \
    int result = REAL(name)(descriptor);                   \
    if (result == 0) record(SYNC, file, 0, NULL, 0);       \
    pthread_mutex_unlock(&order);                          \
    return result;                                         \
  }
SYNC_BY(fsync)
SYNC_BY(fdatasync)

#define TRUNCATE_BY(name, offset_type)                                    \
  int name(int descriptor, offset_type length) {                          \
    enum file file = file_of(descriptor);                                 \
    if (file == OTHER) return REAL(name)(descriptor, length);             \
    pthread_mutex_lock(&order);                                           \
    int result = REAL(name)(descriptor, length);                          \
    if (result == 0) record(TRUNCATE, file, (uint64_t)length, NULL, 0);   \
    pthread_mutex_unlock(&order);                                         \
    return result;                                                        \
  }
TRUNCATE_BY(ftruncate, off_t)
TRUNCATE_BY(ftruncate64, off64_t)

int unlink(const char *path) {
  enum file file = file_at(path);
  int result = REAL(unlink)(path);
  if (result == 0 && file != OTHER) record(REMOVE, file, 0, NULL, 0);
  return result;
}

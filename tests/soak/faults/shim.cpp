// A library for LD_PRELOAD that makes one call of a system or memory function fail.
//
//   HOTLOOP_FAULT=write:12:ENOSPC       the 12th call of write fails
//   HOTLOOP_FAULT=write:12+:ENOSPC      the 12th and all later calls: the disk stays full
//   HOTLOOP_FAULT_LOG=FILE              is created when the fault happens
//
// write to standard error is left alone, because the message goes there. `malloc` stands for all of
// its relatives; the program defines them itself and calls glibc's (cli/counted_malloc.cpp), which are
// replaced here.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

struct Fault {
  char call[32] = "";
  long number = 0;
  bool stays = false;
  int error = 0;
  const char* log = nullptr;

  Fault() {
    char plus = ' ', name[32] = "";
    const char* text = std::getenv("HOTLOOP_FAULT");
    log = std::getenv("HOTLOOP_FAULT_LOG");
    if (text == nullptr) return;
    if (std::sscanf(text, "%31[^:]:%ld%c:%31s", call, &number, &plus, name) != 4 || plus != '+') {
      std::sscanf(text, "%31[^:]:%ld:%31s", call, &number, name);
    }
    stays = plus == '+';
    struct Name {
      const char* name;
      int error;
    };
    for (const Name& known : {Name{"ENOSPC", ENOSPC}, Name{"EIO", EIO}, Name{"EMFILE", EMFILE},
                              Name{"ENOMEM", ENOMEM}, Name{"EACCES", EACCES}}) {
      if (std::strcmp(known.name, name) == 0) error = known.error;
    }
  }
};

// Constructed on first use: memory is allocated before this library's own constructors run.
const Fault& fault() {
  static const Fault the_fault;
  return the_fault;
}

std::atomic<long> calls{0};

bool fails(const char* call) {
  const Fault& f = fault();
  if (f.number == 0 || std::strcmp(f.call, call) != 0) return false;
  const long now = calls.fetch_add(1) + 1;
  if (f.stays ? now < f.number : now != f.number) return false;
  if (f.log != nullptr && now == f.number) {
    const long descriptor = syscall(SYS_openat, AT_FDCWD, f.log, O_CREAT | O_WRONLY, 0600);
    if (descriptor >= 0) syscall(SYS_close, descriptor);
  }
  errno = f.error;
  return true;
}

template <class Function>
Function* resolved(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// The next definition of NAME. Found when this library is loaded, because dlsym is not re-entrant: it
// allocates itself. Calls before that, of malloc, find it on their own.
#define NEXT(NAME)                                                             \
  static decltype(&NAME) next_##NAME = resolved<decltype(NAME)>(#NAME);        \
  static decltype(&NAME) real_##NAME() {                                       \
    if (next_##NAME == nullptr) next_##NAME = resolved<decltype(NAME)>(#NAME); \
    return next_##NAME;                                                        \
  }

// Defines NAME, which fails as the call COUNTED with the value FAILED.
#define FAULTY(TYPE, NAME, COUNTED, FAILED, PARAMETERS, ARGUMENTS) \
  extern "C" TYPE NAME PARAMETERS;                                 \
  NEXT(NAME)                                                       \
  extern "C" TYPE NAME PARAMETERS {                                \
    if (fails(COUNTED)) return FAILED;                             \
    return real_##NAME() ARGUMENTS;                                \
  }

FAULTY(int, fsync, "fsync", -1, (int fd), (fd))
FAULTY(int, fdatasync, "fdatasync", -1, (int fd), (fd))
FAULTY(int, rename, "rename", -1, (const char* from, const char* to), (from, to))
FAULTY(int, unlink, "unlink", -1, (const char* path), (path))
FAULTY(int, remove, "unlink", -1, (const char* path), (path))
FAULTY(int, mkdir, "mkdir", -1, (const char* path, mode_t mode), (path, mode))
FAULTY(int, flock, "flock", -1, (int fd, int how), (fd, how))
FAULTY(int, getentropy, "getentropy", -1, (void* to, size_t size), (to, size))
FAULTY(int, ftruncate, "ftruncate", -1, (int fd, off_t size), (fd, size))
FAULTY(int, ftruncate64, "ftruncate", -1, (int fd, off_t size), (fd, size))
FAULTY(ssize_t, read, "read", -1, (int fd, void* to, size_t size), (fd, to, size))
FAULTY(ssize_t, pread, "pread", -1, (int fd, void* to, size_t size, off_t at), (fd, to, size, at))
FAULTY(ssize_t, pread64, "pread", -1, (int fd, void* to, size_t size, off_t at), (fd, to, size, at))
FAULTY(void*, mmap, "mmap", reinterpret_cast<void*>(-1),
       (void* at, size_t size, int access, int flags, int fd, off_t from),
       (at, size, access, flags, fd, from))
FAULTY(void*, mmap64, "mmap", reinterpret_cast<void*>(-1),
       (void* at, size_t size, int access, int flags, int fd, off_t from),
       (at, size, access, flags, fd, from))
FAULTY(void*, __libc_malloc, "malloc", nullptr, (size_t size), (size))
FAULTY(void*, __libc_calloc, "malloc", nullptr, (size_t items, size_t size), (items, size))
FAULTY(void*, __libc_realloc, "malloc", nullptr, (void* old, size_t size), (old, size))
FAULTY(void*, __libc_memalign, "malloc", nullptr, (size_t alignment, size_t size),
       (alignment, size))

NEXT(write)
extern "C" ssize_t write(int fd, const void* from, size_t size) {
  if (fd != STDERR_FILENO && fails("write")) return -1;
  return real_write()(fd, from, size);
}

// The mode is only there if a file may be created; reading it anyway is harmless on this ABI.
#define FAULTY_OPEN(NAME)                                 \
  NEXT(NAME)                                              \
  extern "C" int NAME(const char* path, int flags, ...) { \
    va_list rest;                                         \
    va_start(rest, flags);                                \
    const mode_t mode = va_arg(rest, mode_t);             \
    va_end(rest);                                         \
    if (fails("open")) return -1;                         \
    return real_##NAME()(path, flags, mode);              \
  }
FAULTY_OPEN(open)
FAULTY_OPEN(open64)

#define FAULTY_OPENAT(NAME)                                           \
  NEXT(NAME)                                                          \
  extern "C" int NAME(int folder, const char* path, int flags, ...) { \
    va_list rest;                                                     \
    va_start(rest, flags);                                            \
    const mode_t mode = va_arg(rest, mode_t);                         \
    va_end(rest);                                                     \
    if (fails("open")) return -1;                                     \
    return real_##NAME()(folder, path, flags, mode);                  \
  }
FAULTY_OPENAT(openat)
FAULTY_OPENAT(openat64)

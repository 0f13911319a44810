#include "core/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <hotloop/error.hpp>
#include <new>
#include <utility>

namespace hotloop {
namespace {

[[noreturn]] void fail(std::string_view what, const std::string& path, std::string_view reason) {
  throw RunError(fmt::format("cannot {} {}: {}", what, path, reason));
}
[[noreturn]] void fail(std::string_view what, const std::string& path, int error) {
  fail(what, path, std::strerror(error));
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

  // Some file systems report a failed write only here.
  int close() { return ::close(std::exchange(value_, -1)) == 0 ? 0 : errno; }

 private:
  int value_;
};

// Returns the number of bytes written. If it is less than `size`, errno says why.
std::size_t write_all(int descriptor, const void* from, std::size_t size) {
  constexpr std::size_t kMaxAtOnce = std::size_t{1} << 30;
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::write(descriptor, static_cast<const char*>(from) + done,
                              std::min(size - done, kMaxAtOnce));
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0) {
      errno = ENOSPC;  // the device accepts nothing and gives no reason
      break;
    } else if (errno != EINTR) {
      break;
    }
  }
  return done;
}

// A rename is on the disk only after its folder is flushed.
int sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) return errno;
  // EINVAL: the file system cannot flush folders, and does not need to.
  return ::fsync(descriptor.get()) == 0 || errno == EINVAL ? 0 : errno;
}

// False if another process has the lock. On a file system without locks it always succeeds.
bool try_lock(int descriptor) {
  return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

// Locks the temporary file for this process. The name must still refer to the locked file: its
// previous writer may have renamed it to its final name in the meantime.
void lock_temporary(int descriptor, const std::string& temporary, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  if (!try_lock(descriptor) || ::fstat(descriptor, &opened) != 0 ||
      ::stat(temporary.c_str(), &named) != 0 || opened.st_ino != named.st_ino ||
      opened.st_dev != named.st_dev) {
    fail("write", path, "another process is writing it");
  }
}

}  // namespace

FileContents read_file(const std::string& path) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) fail("read", path, errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) fail("read", path, errno);
  if (S_ISDIR(status.st_mode)) fail("read", path, "it is a folder");

  // The size is a hint: pipes have none, and a file may grow.
  std::unique_ptr<std::byte[]> data;  // not zeroed, because a file can be large
  std::size_t size = 0;
  std::size_t capacity = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0)) + 1;
  try {
    data = std::make_unique_for_overwrite<std::byte[]>(capacity);
    for (;;) {
      if (size == capacity) {
        auto larger = std::make_unique_for_overwrite<std::byte[]>(2 * capacity);
        std::memcpy(larger.get(), data.get(), capacity);
        data = std::move(larger);
        capacity *= 2;
      }
      const ssize_t n = ::read(descriptor.get(), data.get() + size, capacity - size);
      if (n == 0) return {std::move(data), size};
      if (n > 0) {
        size += static_cast<std::size_t>(n);
      } else if (errno != EINTR) {
        fail("read", path, errno);
      }
    }
  } catch (const std::bad_alloc&) {
    fail("read", path, fmt::format("its {} bytes do not fit into memory", status.st_size));
  }
}

FileContents map_file(const std::string& path) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) fail("read", path, errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) fail("read", path, errno);
  if (!S_ISREG(status.st_mode) || status.st_size == 0) return read_file(path);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
  if (data == MAP_FAILED) fail("read", path, errno);
  const auto unmap = [size](const std::byte* bytes) {
    ::munmap(const_cast<std::byte*>(bytes), size);
  };
  return {std::shared_ptr<const std::byte[]>(static_cast<const std::byte*>(data), unmap), size};
}

void check_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return;
  struct stat status;
  const std::string folder = path.substr(0, slash);
  if (stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return;
  throw UsageError(fmt::format("'{}': there is no folder '{}'", path, folder));
}

FileLock::FileLock(const std::string& path, const std::string& what)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail("write", path, errno);
  if (try_lock(descriptor_)) return;
  ::close(descriptor_);
  throw RunError(fmt::format("another process is using {}", what));
}

FileLock::~FileLock() { ::close(descriptor_); }

void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> parts) {
  const std::string temporary = path + ".tmp";
  Descriptor descriptor(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (descriptor.get() < 0) fail("write", path, errno);
  lock_temporary(descriptor.get(), temporary, path);

  int error = ::ftruncate(descriptor.get(), 0) == 0 ? 0 : errno;
  for (std::span<const std::byte> part : parts) {
    if (error != 0) break;
    if (write_all(descriptor.get(), part.data(), part.size()) != part.size()) error = errno;
  }
  if (error == 0 && ::fsync(descriptor.get()) != 0) error = errno;
  // Renamed while the lock is held, so that no other process can lock the temporary in between.
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail("write", path, error);
  }
  if (error = descriptor.close(); error != 0) fail("write", path, error);
  if (error = sync_folder_of(path); error != 0) fail("write", path, error);
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  write_file_atomically(path, {&part, 1});
}

LineWriter::LineWriter(std::string path) : path_(std::move(path)) { open(O_CREAT); }

LineWriter::LineWriter(std::string path, std::uint64_t offset) : path_(std::move(path)) {
  open(offset == 0 ? O_CREAT : 0);
  const std::uint64_t found = written_;
  int error = 0;
  if (found >= offset && ::ftruncate(descriptor_, static_cast<off_t>(offset)) != 0) error = errno;
  if (found < offset || error != 0) {
    ::close(descriptor_);  // the destructor of an unfinished object does not run
    if (error != 0) fail("cut", path_, error);
    fail("resume", path_, fmt::format("expected at least {} bytes, found {}", offset, found));
  }
  written_ = offset;
}

LineWriter::~LineWriter() {
  write_all(descriptor_, buffer_.get(), used_);
  ::close(descriptor_);
}

void LineWriter::open(int flags) {
  buffer_ = std::make_unique_for_overwrite<char[]>(kCapacity);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
  if (descriptor_ < 0) fail("open", path_, errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    const int error = errno;
    ::close(descriptor_);
    fail("open", path_, error);
  }
  written_ = static_cast<std::uint64_t>(status.st_size);
}

void LineWriter::append(std::string_view line) {
  put(line);
  put("\n");
}

void LineWriter::put(std::string_view text) {
  while (!text.empty()) {
    if (used_ == kCapacity) flush();
    const std::size_t n = std::min(text.size(), kCapacity - used_);
    std::memcpy(buffer_.get() + used_, text.data(), n);
    used_ += n;
    text.remove_prefix(n);
  }
}

void LineWriter::flush() {
  const std::size_t done = write_all(descriptor_, buffer_.get(), used_);
  const int error = errno;
  // Drops what was written, so that the next attempt continues where this one stopped.
  written_ += done;
  used_ -= done;
  std::memmove(buffer_.get(), buffer_.get() + done, used_);
  if (used_ > 0) fail("write", path_, error);
}

void LineWriter::sync() {
  flush();
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL) fail("write", path_, errno);
}

}  // namespace hotloop

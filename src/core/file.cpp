#include "core/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
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

// Reads up to `size` bytes at `offset`; fewer at the end of the file. Throws RunError.
std::size_t read_all(int descriptor, const std::string& path, std::uint64_t offset, void* to,
                     std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(descriptor, static_cast<char*>(to) + done, size - done,
                              static_cast<off_t>(offset + done));
    if (n == 0) break;
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      fail("read", path, errno);
    }
  }
  return done;
}

struct stat status_of(const Descriptor& descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) fail("open", path, errno);
  return status;
}

Descriptor open_to_read(const std::string& path, FileKind kind) {
  constexpr int kNeverWait = O_NONBLOCK | O_NOCTTY;
  const int flags = O_RDONLY | O_CLOEXEC | (kind == FileKind::regular ? kNeverWait : 0);
  Descriptor descriptor(::open(path.c_str(), flags));
  if (descriptor.get() < 0) fail("read", path, errno);
  const mode_t mode = status_of(descriptor, path).st_mode;
  if (S_ISDIR(mode)) fail("read", path, "it is a folder");
  if (kind == FileKind::regular && !S_ISREG(mode)) fail("read", path, "it is not a regular file");
  return descriptor;
}

// Opens a file that is changed in place, or creates it.
Descriptor open_to_change(const std::string& path, int flags) {
  constexpr std::string_view kRemedy = "remove it, or put a copy in its place";
  // O_NONBLOCK: opening a pipe would wait for its reader.
  Descriptor descriptor(
      ::open(path.c_str(), flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
  if (descriptor.get() < 0) {
    if (errno == ELOOP) fail("write", path, fmt::format("it is a symbolic link; {}", kRemedy));
    fail("write", path, errno);
  }
  const struct stat status = status_of(descriptor, path);
  if (!S_ISREG(status.st_mode)) fail("write", path, "it is not a regular file");
  if (status.st_nlink > 1) {
    fail("write", path, fmt::format("the file has other names (hard links); {}", kRemedy));
  }
  return descriptor;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A rename is on the disk only after its folder is flushed.
int sync_folder(const std::string& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) return errno;
  // EINVAL: the file system cannot flush folders, and does not need to.
  return ::fsync(descriptor.get()) == 0 || errno == EINVAL ? 0 : errno;
}

// Temporary files are called .hotloop-<16 hex digits>.tmp. The digits are random, so that nobody can
// prepare a file of that name.
constexpr std::string_view kTemporaryStart = ".hotloop-", kTemporaryEnd = ".tmp";
constexpr std::size_t kTemporaryDigits = 16;

std::string temporary_beside(const std::string& path) {
  std::uint64_t random = 0;
  if (::getentropy(&random, sizeof random) != 0) fail("write", path, errno);
  return fmt::format("{}/{}{:0{}x}{}", folder_of(path), kTemporaryStart, random, kTemporaryDigits,
                     kTemporaryEnd);
}

bool is_temporary(std::string_view name) {
  if (name.size() != kTemporaryStart.size() + kTemporaryDigits + kTemporaryEnd.size()) return false;
  return name.starts_with(kTemporaryStart) && name.ends_with(kTemporaryEnd) &&
         name.substr(kTemporaryStart.size(), kTemporaryDigits)
                 .find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// A rename would replace a device or a pipe by a file.
void check_replaceable(const std::string& path) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    fail("write", path, "it is not a regular file");
  }
}

}  // namespace

int Descriptor::close() {
  if (value_ < 0) return 0;
  return ::close(release()) == 0 ? 0 : errno;
}

FileContents read_file(const std::string& path, std::uint64_t max_bytes, FileKind kind) {
  constexpr std::uint64_t kMaxOfPipe = std::uint64_t{64} << 20;
  const Descriptor descriptor = open_to_read(path, kind);
  const struct stat status = status_of(descriptor, path);
  const auto expected = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  const bool has_size = S_ISREG(status.st_mode) && expected > 0;
  if (has_size && expected > max_bytes) {
    fail("read", path, fmt::format("it has {} bytes; allowed: at most {}", expected, max_bytes));
  }
  if (!has_size) max_bytes = std::min(max_bytes, kMaxOfPipe);

  // The size is a hint: pipes have none, and a file may grow.
  std::unique_ptr<std::byte[]> data;  // not zeroed, because a file can be large
  std::size_t size = 0;
  std::size_t capacity = (has_size ? expected : 0) + 1;
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
        if (size > max_bytes) {
          fail("read", path, fmt::format("it gives more than {} MiB", max_bytes >> 20));
        }
      } else if (errno != EINTR) {
        fail("read", path, errno);
      }
    }
  } catch (const std::bad_alloc&) {
    fail("read", path, fmt::format("its {} bytes do not fit into memory", expected));
  }
}

InputFile::InputFile(const std::string& path, FileKind kind)
    : path_(path), descriptor_(open_to_read(path, kind)) {
  const struct stat status = status_of(descriptor_, path);
  if (S_ISREG(status.st_mode)) {
    contents_.size = static_cast<std::size_t>(status.st_size);
  } else {
    contents_ = read_file(path, kMaxFileBytes, kind);
  }
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  assert(offset <= size() && to.size() <= size() - offset);
  if (to.empty()) return;
  if (contents_.data) {
    std::memcpy(to.data(), contents_.data.get() + offset, to.size());
  } else if (read_all(descriptor_.get(), path_, offset, to.data(), to.size()) != to.size()) {
    fail("read", path_, "it became shorter while it was read");
  }
}

std::vector<std::string> names_in(const std::string& folder) {
  const Folder entries(::opendir(folder.c_str()));
  if (!entries && (errno == ENOENT || errno == ENOTDIR)) return {};
  if (!entries) fail("read", folder, errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void make_real_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return;
  if (errno != EEXIST) fail("create", path, errno);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) fail("create", path, errno);
  if (S_ISDIR(status.st_mode)) return;
  fail("use", path,
       S_ISLNK(status.st_mode) ? "it is a symbolic link; put a real folder in its place"
                               : "it is not a folder");
}

void remove_stale_temporaries(const std::string& folder) {
  Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (descriptor.get() < 0) return;
  const Folder entries(::fdopendir(descriptor.get()));
  if (!entries) return;
  const int at = descriptor.release();  // now owned by `entries`
  while (const dirent* entry = ::readdir(entries.get())) {
    struct stat status {};
    if (is_temporary(entry->d_name) &&
        ::fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode)) {
      ::unlinkat(at, entry->d_name, 0);
    }
  }
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
    : descriptor_(open_to_change(path, O_RDWR)) {
  // On a file system without locks every process succeeds.
  if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw RunError(fmt::format("another process is using {}", what));
}

void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> parts) {
  check_replaceable(path);
  const std::string temporary = temporary_beside(path);
  Descriptor descriptor(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (descriptor.get() < 0) fail("write", path, errno);
  int error = 0;
  for (std::span<const std::byte> part : parts) {
    if (error != 0) break;
    if (write_all(descriptor.get(), part.data(), part.size()) != part.size()) error = errno;
  }
  if (error == 0 && ::fsync(descriptor.get()) != 0) error = errno;
  if (error == 0) error = descriptor.close();
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail("write", path, error);
  }
  if (error = sync_folder(folder_of(path)); error != 0) fail("write", path, error);
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  write_file_atomically(path, {&part, 1});
}

LineWriter::LineWriter(std::string path)
    : path_(std::move(path)),
      buffer_(std::make_unique_for_overwrite<char[]>(kCapacity)),
      descriptor_(open_to_change(path_, O_RDWR | O_APPEND)),
      written_(static_cast<std::uint64_t>(status_of(descriptor_, path_).st_size)) {}

LineWriter::LineWriter(std::string path, std::uint64_t offset) : LineWriter(std::move(path)) {
  // Back to the end of a line, in steps of the buffer that lines will be written to.
  std::uint64_t end = std::min(offset, written_);
  while (end > 0) {
    const std::uint64_t begin = end - std::min<std::uint64_t>(end, kCapacity);
    const std::size_t size = read_all(descriptor_.get(), path_, begin, buffer_.get(),
                                      static_cast<std::size_t>(end - begin));
    const std::size_t newline = std::string_view(buffer_.get(), size).rfind('\n');
    end = newline == std::string_view::npos ? begin : begin + newline + 1;
    if (newline != std::string_view::npos) break;
  }
  cut(end);
}

LineWriter::~LineWriter() { write_all(descriptor_.get(), buffer_.get(), used_); }

void LineWriter::cut(std::uint64_t offset) {
  flush();
  if (offset >= written_) return;
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(offset)) != 0) fail("cut", path_, errno);
  written_ = offset;
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
  const std::size_t done = write_all(descriptor_.get(), buffer_.get(), used_);
  const int error = errno;
  // Drops what was written, so that the next attempt continues where this one stopped.
  written_ += done;
  used_ -= done;
  std::memmove(buffer_.get(), buffer_.get() + done, used_);
  if (used_ > 0) fail("write", path_, error);
}

void LineWriter::sync() {
  flush();
  if (::fdatasync(descriptor_.get()) != 0 && errno != EINVAL) fail("write", path_, errno);
}

}  // namespace hotloop

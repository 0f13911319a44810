// Files that are either complete or absent, and an append-only writer of lines.
//
// Invariant of write_file_atomically: a reader of `path` sees the old content or the new one,
// never a mixture, even after a full disk, a kill or a power cut. Every failure is
// a RunError that names the path and the reason.
//
// A folder may come from somebody else, so no write follows a link in it: a new file replaces a link
// of its name, and a file that is changed in place must be a regular file with no other name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotloop {

// An open file of the system; closed with this object.
class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }
  int close();  // errno or 0: some file systems report a failed write only here

 private:
  int value_;
};

// The whole content of a file.
struct FileContents {
  std::shared_ptr<const std::byte[]> data;
  std::size_t size = 0;

  std::span<const std::byte> bytes() const { return {data.get(), size}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data.get()), size}; }
};

// What a path may lead to. Opening a pipe waits for a writer, so `any` is only for what the user
// names: a spec may come from /dev/stdin, but a file in a run folder is a regular one.
enum class FileKind { regular, any };

// More is refused before it is read: a file that takes no room on the disk can have any size.
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;

// Pipes and devices, which have no size, may give at most 64 MiB.
FileContents read_file(const std::string& path, std::uint64_t max_bytes = kMaxFileBytes,
                       FileKind kind = FileKind::regular);

// A file that is read in pieces, so that it can be as large as the memory. It is not mapped: a file
// that becomes shorter meanwhile is a RunError, not a crash.
class InputFile {
 public:
  explicit InputFile(const std::string& path, FileKind kind = FileKind::regular);
  InputFile(FileContents contents) : contents_(std::move(contents)) {}

  std::uint64_t size() const { return contents_.size; }
  void read(std::uint64_t offset, std::span<std::byte> to) const;  // within size()

 private:
  std::string path_;
  Descriptor descriptor_;
  FileContents contents_;  // without data if it is read from the descriptor
};

// The names of a folder's entries, sorted; none if there is no such folder. (The iterator of
// std::filesystem ends the program if memory runs out.)
std::vector<std::string> names_in(const std::string& folder);

// Writes the parts one after the other to a new hidden file in the same folder, flushes it to the
// disk, renames it to `path` and flushes the folder. On failure the new file is removed and an
// existing `path` is untouched. If several processes write the same path, the last one wins.
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> parts);
void write_file_atomically(const std::string& path, std::string_view text);

// Removes what killed processes left of write_file_atomically in `folder`, which no other process
// may be using. Does nothing if `folder` is a link or does not exist.
void remove_stale_temporaries(const std::string& folder);

// Creates a folder unless it exists. Throws RunError if it is a link: files in it would be written
// and removed somewhere else.
void make_real_folder(const std::string& path);

// Throws UsageError if the folder of a file to be written later does not exist; "" = no file.
void check_folder_of(const std::string& path);

// Locks out other processes while it exists. Throws RunError if another process holds the lock;
// `what` names the locked thing in the message.
class FileLock {
 public:
  FileLock(const std::string& path, const std::string& what);

 private:
  Descriptor descriptor_;
};

// Appends lines through a buffer of fixed size; a line that fits into it allocates nothing.
class LineWriter {
 public:
  explicit LineWriter(std::string path);  // creates the file, or appends to it
  // Cuts the file first: a resumed run writes everything after its checkpoint again. What remains
  // are the whole lines within the first `offset` bytes, even if the file is shorter or missing.
  LineWriter(std::string path, std::uint64_t offset);
  ~LineWriter();  // flushes, ignoring errors; call flush() first where they matter
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void append(std::string_view line);  // without its newline
  void cut(std::uint64_t offset);      // removes everything after it
  void flush();                        // to the operating system
  void sync();                         // to the disk

  // Bytes in the file once everything is flushed: the `offset` to resume at.
  std::uint64_t offset() const { return written_ + used_; }

 private:
  void put(std::string_view text);

  static constexpr std::size_t kCapacity = 1 << 16;
  std::string path_;
  std::unique_ptr<char[]> buffer_;
  Descriptor descriptor_;
  std::uint64_t written_ = 0;
  std::size_t used_ = 0;
};

}  // namespace hotloop

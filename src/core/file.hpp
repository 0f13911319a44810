// Files that are either complete or absent, and an append-only writer of lines.
//
// Invariant of write_file_atomically: a reader of `path` sees the old content or the new one,
// never a mixture, even after a full disk, a kill or a power cut. Every failure is
// a RunError that names the path and the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hotloop {

// The whole content of a file.
struct FileContents {
  std::shared_ptr<const std::byte[]> data;
  std::size_t size = 0;

  std::span<const std::byte> bytes() const { return {data.get(), size}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data.get()), size}; }
};

FileContents read_file(const std::string& path);

// The same by mmap: nothing is copied, and the system can reclaim the pages at any time, so a
// checkpoint as large as the memory can be read. The file must not shrink meanwhile.
FileContents map_file(const std::string& path);

// Writes the parts one after the other to `path`.tmp, flushes it to the disk, renames it to `path`
// and flushes the folder. On failure the temporary is removed and an existing `path` is untouched.
// A temporary left behind by a killed process is overwritten; it is an error if another process is
// writing it at the moment.
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> parts);
void write_file_atomically(const std::string& path, std::string_view text);

// Throws UsageError if the folder of a file to be written later does not exist; "" = no file.
void check_folder_of(const std::string& path);

// Locks out other processes while it exists. Throws RunError if another process holds the lock;
// `what` names the locked thing in the message.
class FileLock {
 public:
  FileLock(const std::string& path, const std::string& what);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

// Appends lines through a buffer of fixed size; a line that fits into it allocates nothing.
class LineWriter {
 public:
  explicit LineWriter(std::string path);  // creates the file, or appends to it
  // Truncates the file to `offset` bytes first: a resumed run writes everything after its
  // checkpoint again. A shorter file is an error.
  LineWriter(std::string path, std::uint64_t offset);
  ~LineWriter();  // flushes, ignoring errors; call flush() first where they matter
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void append(std::string_view line);  // without its newline
  void flush();                        // to the operating system
  void sync();                         // to the disk

  // Bytes in the file once everything is flushed: the `offset` to resume at.
  std::uint64_t offset() const { return written_ + used_; }

 private:
  void open(int flags);
  void put(std::string_view text);

  static constexpr std::size_t kCapacity = 1 << 16;
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
  std::size_t used_ = 0;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace hotloop

// Streams over an unnamed file.
#include <spindrift/group/state_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <istream>
#include <ostream>
#include <streambuf>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::group {
namespace {

FileDescriptor unnamed_file() {
  const std::string directory = std::filesystem::temp_directory_path().string();
  FileDescriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  // Not every file system has unnamed files.
  std::string path = directory + "/spindrift-state-XXXXXX";
  file = FileDescriptor(::mkostemp(path.data(), O_CLOEXEC));
  if (!file)
    throw Exception(Error(system_error("make a file in " + directory, errno)).fix("set TMPDIR to a writable directory"));
  ::unlink(path.c_str());
  return file;
}

void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw Exception(system_error("write a state", errno));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void read_all(int file, std::uint64_t offset, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t count = ::pread(file, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw Exception(system_error("read a state", count < 0 ? errno : EIO));
    offset += static_cast<std::uint64_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
}

/// Sequential, one direction at a time.
class FileBuffer final : public std::streambuf {
 public:
  explicit FileBuffer(int file) : file_(file) { setp(buffer_.data(), buffer_.data() + buffer_.size()); }

  int sync() override {
    write_all(file_, std::as_bytes(std::span(pbase(), static_cast<std::size_t>(pptr() - pbase()))));
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return 0;
  }

 protected:
  int_type overflow(int_type character) override {
    sync();
    if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
    return sputc(traits_type::to_char_type(character));
  }
  int_type underflow() override {
    const ssize_t count = ::read(file_, buffer_.data(), buffer_.size());
    if (count < 0) throw Exception(system_error("read a state", errno));
    if (count == 0) return traits_type::eof();
    setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
    return traits_type::to_int_type(*gptr());
  }

 private:
  int file_;
  std::array<char, 64 * 1024> buffer_;
};

class KeptState final : public views::StateReader {
 public:
  explicit KeptState(const std::function<void(std::ostream&)>& save) : file_(unnamed_file()) {
    FileBuffer buffer(file_.get());
    std::ostream stream(&buffer);
    stream.exceptions(std::ios::badbit);  // what the buffer throws goes on
    save(stream);
    stream.flush();
    bytes_ = static_cast<std::uint64_t>(::lseek(file_.get(), 0, SEEK_CUR));
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  void read(std::uint64_t offset, std::span<std::byte> to) override {
    // The kernel fetches meanwhile what has left the memory again: the poller, which reads it, must not wait for a disk.
    if (offset / ahead_bytes != (offset + to.size()) / ahead_bytes)
      ::posix_fadvise(file_.get(), static_cast<off_t>(offset + to.size()), 2 * ahead_bytes, POSIX_FADV_WILLNEED);
    read_all(file_.get(), offset, to);
  }

 private:
  static constexpr std::uint64_t ahead_bytes = 1U << 20U;
  FileDescriptor file_;
  std::uint64_t bytes_ = 0;
};

class CollectedState final : public views::StateWriter {
 public:
  explicit CollectedState(std::function<void(std::istream&)> load) : file_(unnamed_file()), load_(std::move(load)) {}
  void write(std::span<const std::byte> piece) override { write_all(file_.get(), piece); }
  void finish() override {
    ::lseek(file_.get(), 0, SEEK_SET);
    FileBuffer buffer(file_.get());
    std::istream stream(&buffer);
    load_(stream);
  }

 private:
  FileDescriptor file_;
  std::function<void(std::istream&)> load_;
};

}  // namespace

std::unique_ptr<views::StateReader> keep_state(const std::function<void(std::ostream&)>& save) {
  return std::make_unique<KeptState>(save);
}

std::unique_ptr<views::StateWriter> collect_state(std::function<void(std::istream&)> load) {
  return std::make_unique<CollectedState>(std::move(load));
}

}  // namespace spindrift::group

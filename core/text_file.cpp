// Opened without waiting, looked at, and read to its end.
#include <spindrift/core/text_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift {

Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max, ErrorKind kind) {
  const auto refuse = [&](std::string message, std::string fix) {
    return Error(kind, std::move(message)).at(path).fix(std::move(fix));
  };
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    return refuse(system_error("cannot open it", errno).message(), "name a file that exists and that this user may read");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return refuse("it is no regular file", "name a text file");
  std::string text;
  char piece[16384];
  while (true) {
    const ssize_t got = ::read(file.get(), piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(system_error("cannot read it", errno).message(), "check the file");
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > bytes_max)
      return refuse("it is larger than " + std::to_string(bytes_max >> 20) + " MiB", "name a smaller one");
  }
}

}  // namespace spindrift

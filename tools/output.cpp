// One form for every failure of standard output.
#include "output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace spindrift::tools {
namespace {

/// A write that failed earlier, and told somebody else why, may have met a pipe that nobody reads.
bool nobody_reads() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

}  // namespace

Error output_error(int error_number) {
  const std::string reason = error_number == 0 ? "" : std::string(": ") + std::strerror(error_number);
  return Error(ErrorKind::resource, "standard output could not be written" + reason).fix("see to where it leads");
}

bool is_reader_gone(const Error& error) { return error.message() == output_error(EPIPE).message(); }

Result<void> flush_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  const int reason = errno;
  return output_error(reason == 0 && nobody_reads() ? EPIPE : reason);
}

Result<void> print_line(std::string_view line) {
  errno = 0;
  const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fputc('\n', stdout) != EOF;
  if (!written) return output_error(errno);
  return flush_output();
}

}  // namespace spindrift::tools

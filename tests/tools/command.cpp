// Processes and files of command tests.
#include "command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace spindrift::test {
namespace {

using std::chrono::steady_clock;
constexpr std::chrono::seconds patience(60);

struct Pipe {
  FileDescriptor reading;
  FileDescriptor writing;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void append_from(FileDescriptor& from, std::string& to) {
  std::array<char, 65536> buffer;
  const auto count = ::read(from.get(), buffer.data(), buffer.size());
  if (count > 0) to.append(buffer.data(), static_cast<std::size_t>(count));
  if (count == 0 || (count < 0 && errno != EINTR)) from.reset();
}

}  // namespace

Command::Command(std::vector<std::string> arguments, const char* program) : deadline_(steady_clock::now() + patience) {
  Pipe input = make_pipe();
  Pipe output = make_pipe();
  Pipe errors = make_pipe();
  arguments.insert(arguments.begin(), program);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  id_ = ::fork();
  if (id_ < 0) throw std::runtime_error("fork");
  if (id_ == 0) {
    ::dup2(input.reading.get(), STDIN_FILENO);
    ::dup2(output.writing.get(), STDOUT_FILENO);
    ::dup2(errors.writing.get(), STDERR_FILENO);
    ::execv(program, pointers.data());
    ::_exit(127);
  }
  input_ = std::move(input.writing);
  output_ = std::move(output.reading);
  errors_ = std::move(errors.reading);
  std::signal(SIGPIPE, SIG_IGN);
}

Command::~Command() {
  if (reaped_) return;
  ::kill(id_, SIGKILL);
  ::waitpid(id_, nullptr, 0);
}

void Command::write(std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(input_.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // it does not read any more, as its exit code will tell
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void Command::send_signal(int signal) const { ::kill(id_, signal); }

bool Command::read_some() {
  if (!output_ && !errors_) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - steady_clock::now()).count();
  if (left <= 0) return false;
  std::array<pollfd, 2> sources{
      {{.fd = output_.get(), .events = POLLIN, .revents = 0}, {.fd = errors_.get(), .events = POLLIN, .revents = 0}}};
  if (::poll(sources.data(), sources.size(), static_cast<int>(left)) <= 0) return errno == EINTR;
  if (sources[0].revents != 0) append_from(output_, result_.output);
  if (sources[1].revents != 0) append_from(errors_, result_.errors);
  return true;
}

bool Command::wait_for(std::string_view text) {
  const auto there = [&] {
    return result_.output.find(text) != std::string::npos || result_.errors.find(text) != std::string::npos;
  };
  while (!there()) {
    if (!read_some()) return there();
  }
  return true;
}

CommandResult Command::finish() {
  while (read_some()) {
  }
  if (output_ || errors_) ::kill(id_, SIGKILL);  // out of patience
  int state = 0;
  ::waitpid(id_, &state, 0);
  reaped_ = true;
  result_.code = WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
  return std::move(result_);
}

CommandResult run(std::vector<std::string> arguments, std::string_view input) {
  Command command(std::move(arguments));
  command.write(input);
  command.close_input();
  return command.finish();
}

Directory::Directory() {
  // Short, for it holds sockets; their paths are limited.
  path_ = "/tmp/spindrift-test-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp");
}

Directory::~Directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Directory::file(const std::string& name, std::string_view text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path) << text;
  return path;
}

}  // namespace spindrift::test
